/// Puts records into frames.
struct HistoryWriter {
  /// The frame under construction: room for its head, then its records.
  private(set) var bytes: [UInt8]

  init() { bytes = [UInt8](repeating: 0, count: HistoryFormat.frameHeadLength) }

  var isEmpty: Bool { bytes.count == HistoryFormat.frameHeadLength }
  /// Bytes of records.
  var count: Int { bytes.count - HistoryFormat.frameHeadLength }

  /// What a file begins with.
  static let prefix = HistoryFormat.mark + [HistoryFormat.version]

  /// Adds a record to the frame.
  mutating func write(_ record: HistoryRecord) {
    switch record {
    case .header(let header):
      bytes.append(HistoryFormat.Code.header)
      text(header.boot)
      integer(UInt64(bitPattern: header.age))
      text(header.upstream)
      text(header.namespace)
      bytes.append(header.isComplete ? 1 : 0)
    case .epoch(let epoch, let start):
      bytes.append(HistoryFormat.Code.epoch)
      integer(start)
      text(epoch)
    case .position(let sequence):
      bytes.append(HistoryFormat.Code.position)
      integer(sequence)
    case .resumption(let resumption, let target):
      bytes.append(HistoryFormat.Code.resumption)
      integer(target)
      // One that is too long to be written is none: the server is asked to begin anew.
      let written = resumption.flatMap { Self.fits($0.session) && Self.fits($0.offset) ? $0 : nil }
      bytes.append(written == nil ? 0 : 1)
      guard let resumption = written else { return }
      text(resumption.session)
      text(resumption.offset)
    case .event(let arrival, let tail): event(tail, arrival: arrival)
    case .hole(let arrival, let reason, let name):
      bytes.append(HistoryFormat.Code.hole)
      integer(UInt64(bitPattern: arrival))
      bytes.append(UInt8(HistoryFormat.reasons.firstIndex(of: reason) ?? 0))
      // A piece of a name would be another name, which other filters want; a hole without one concerns all of them.
      let written = name.flatMap { Self.fits($0) ? $0 : nil }
      bytes.append(written == nil ? 0 : 1)
      if let written { text(written) }
    case .end: bytes.append(HistoryFormat.Code.end)
    }
  }

  /// The path of nearly every record.
  mutating func event(_ tail: [UInt8], arrival: Int64) {
    let size = HistoryFormat.eventHeadLength + tail.count
    bytes.append(addingCapacity: size) { output in
      output.withUnsafeMutableBufferPointer { buffer, count in
        let record = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
        record[0] = HistoryFormat.Code.event
        record.storeBytes(of: UInt64(bitPattern: arrival).littleEndian, toByteOffset: 1, as: UInt64.self)
        record.storeBytes(of: UInt32(truncatingIfNeeded: tail.count).littleEndian, toByteOffset: 9, as: UInt32.self)
        let place = UnsafeMutableRawBufferPointer(rebasing: record[HistoryFormat.eventHeadLength...])
        tail.withUnsafeBytes { place.copyMemory(from: $0) }
        count += size
      }
    }
  }

  /// Completes the frame.
  mutating func close(_ checksum: (UnsafeRawBufferPointer) -> UInt32) {
    let length = UInt32(truncatingIfNeeded: count)
    bytes.withUnsafeMutableBytes { frame in
      let sum = checksum(UnsafeRawBufferPointer(rebasing: frame[HistoryFormat.frameHeadLength...]))
      frame.storeBytes(of: length.littleEndian, as: UInt32.self)
      frame.storeBytes(of: sum.littleEndian, toByteOffset: 4, as: UInt32.self)
    }
  }

  /// Begins the next frame.
  mutating func reset() {
    // What one burst needed is not kept for ever.
    bytes.removeAll(keepingCapacity: bytes.capacity <= HistoryFormat.frameTarget / 4)
    bytes.append(contentsOf: repeatElement(0, count: HistoryFormat.frameHeadLength))
  }

  private mutating func integer<T: FixedWidthInteger>(_ value: T) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  /// Whether a text can be written.
  private static func fits(_ text: String) -> Bool { text.utf8.count <= Int(UInt16.max) }

  /// One that is too long is written as empty, never in part: what the reader gets is always a text that was.
  private mutating func text(_ text: String) {
    let written = Self.fits(text) ? text : ""
    integer(UInt16(truncatingIfNeeded: written.utf8.count))
    bytes += written.utf8
  }
}
