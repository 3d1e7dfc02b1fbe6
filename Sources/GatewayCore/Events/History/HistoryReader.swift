/// Reads a segment. Whatever the bytes are, it ends with records that were written as they are, and maybe with damage.
struct HistoryReader {
  private let bytes: [UInt8]
  private let checksum: (UnsafeRawBufferPointer) -> UInt32
  private var at = 0
  /// Behind the last byte of the present frame.
  private var end = 0

  init(_ bytes: [UInt8], checksum: @escaping (UnsafeRawBufferPointer) -> UInt32) {
    self.bytes = bytes
    self.checksum = checksum
  }

  /// Hands out every record up to the end, or up to the first frame that is damaged. `take` returns false for a record
  /// that contradicts those before it.
  mutating func read(_ take: (HistoryRecord) -> Bool) throws(StorageProblem) {
    guard bytes.starts(with: HistoryFormat.mark), bytes.count >= HistoryFormat.prefixLength else {
      // A file that was cut within its first bytes is still recognised as ours.
      throw bytes.isEmpty || HistoryWriter.prefix.starts(with: bytes) ? .torn(at: 0) : .damaged("it is no history")
    }
    let version = bytes[HistoryFormat.prefixLength - 1]
    guard version == HistoryFormat.version else { throw .laterVersion(version) }
    at = HistoryFormat.prefixLength
    while at < bytes.count {
      let start = at
      try openFrame()
      var records: [HistoryRecord] = []
      while at < end {
        guard let record = record() else { throw .damaged("the record behind byte \(start) makes no sense") }
        records.append(record)
      }
      for record in records where !take(record) { throw .damaged("the record behind byte \(start) makes no sense") }
    }
  }

  /// The header alone, of a segment of which only the beginning is at hand.
  static func header(_ bytes: [UInt8], checksum: @escaping (UnsafeRawBufferPointer) -> UInt32) -> HistoryHeader? {
    var reader = Self(bytes, checksum: checksum)
    var header: HistoryHeader?
    do throws(StorageProblem) {
      try reader.read { record in
        guard header == nil, case .header(let found) = record else { return header != nil }
        header = found
        return true
      }
    } catch { return header }
    return header
  }

  private mutating func openFrame() throws(StorageProblem) {
    let start = at
    guard bytes.count - at >= HistoryFormat.frameHeadLength, let length = integer(UInt32.self, bytes.count),
      let sum = integer(UInt32.self, bytes.count), length > 0, Int(length) <= bytes.count - at
    else { throw .torn(at: start) }
    end = at + Int(length)
    let found = bytes.withUnsafeBytes { checksum(UnsafeRawBufferPointer(rebasing: $0[at..<end])) }
    guard found == sum else { throw .damaged("the check sum behind byte \(start) is wrong") }
  }

  private mutating func record() -> HistoryRecord? {
    switch integer(UInt8.self, end) {
    case HistoryFormat.Code.header: return header()
    case HistoryFormat.Code.epoch:
      guard let start = number(), let epoch = text(), !epoch.isEmpty else { return nil }
      return .epoch(epoch, start: start)
    case HistoryFormat.Code.position: return number().map { .position($0) }
    case HistoryFormat.Code.resumption: return resumption()
    case HistoryFormat.Code.event: return event()
    case HistoryFormat.Code.hole: return hole()
    case HistoryFormat.Code.end: return .end
    default: return nil
    }
  }

  private mutating func header() -> HistoryRecord? {
    guard let boot = text(), let age = integer(UInt64.self, end), age <= Int64.max, let upstream = text(),
      let namespace = text(), let isComplete = integer(UInt8.self, end), isComplete <= 1
    else { return nil }
    return .header(
      HistoryHeader(
        boot: boot, age: Int64(bitPattern: age), upstream: upstream, namespace: namespace,
        isComplete: isComplete == 1))
  }

  private mutating func resumption() -> HistoryRecord? {
    guard let target = integer(UInt64.self, end), let isThere = integer(UInt8.self, end) else { return nil }
    guard isThere == 1 else { return isThere == 0 ? .resumption(nil, target: target) : nil }
    guard let session = text(), let offset = text() else { return nil }
    return .resumption(Resumption(session: session, offset: offset), target: target)
  }

  private mutating func event() -> HistoryRecord? {
    guard let arrival = integer(UInt64.self, end), let length = integer(UInt32.self, end), Int(length) <= end - at
    else {
      return nil
    }
    let tail = Array(bytes[at..<at + Int(length)])
    at += Int(length)
    // It goes to programs as it is: one line, which ends where an event's line ends.
    guard tail.last == UInt8(ascii: "\n"), tail.firstIndex(of: UInt8(ascii: "\n")) == tail.count - 1,
      LocalNotification.place(inTail: tail.span.bytes) != nil
    else { return nil }
    return .event(arrival: Int64(bitPattern: arrival), tail: tail)
  }

  private mutating func hole() -> HistoryRecord? {
    guard let arrival = integer(UInt64.self, end), let code = integer(UInt8.self, end),
      let hasName = integer(UInt8.self, end), Int(code) < HistoryFormat.reasons.count, hasName <= 1
    else { return nil }
    let reason = HistoryFormat.reasons[Int(code)]
    guard hasName == 1 else { return .hole(arrival: Int64(bitPattern: arrival), reason, name: nil) }
    return text().map { .hole(arrival: Int64(bitPattern: arrival), reason, name: $0) }
  }

  private mutating func number() -> UInt64? {
    integer(UInt64.self, end).flatMap { $0 < HistoryFormat.numberLimit ? $0 : nil }
  }

  private mutating func integer<T: FixedWidthInteger>(_: T.Type, _ end: Int) -> T? {
    let size = MemoryLayout<T>.size
    guard end - at >= size else { return nil }
    defer { at += size }
    return bytes.withUnsafeBytes { T(littleEndian: $0.loadUnaligned(fromByteOffset: at, as: T.self)) }
  }

  private mutating func text() -> String? {
    guard let length = integer(UInt16.self, end), Int(length) <= end - at else { return nil }
    defer { at += Int(length) }
    return String(validating: bytes[at..<at + Int(length)], as: UTF8.self)
  }
}

/// Why a segment ends before its end.
extension StorageProblem {
  static func damaged(_ sentence: String) -> StorageProblem { StorageProblem(.damaged, sentence) }

  /// The last piece is not whole.
  static func torn(at place: Int) -> StorageProblem {
    .damaged("it ends in the middle of a record, behind byte \(place)")
  }

  fileprivate static func laterVersion(_ version: UInt8) -> StorageProblem {
    StorageProblem(.future, "it was written by a later version (format \(version))")
  }
}
