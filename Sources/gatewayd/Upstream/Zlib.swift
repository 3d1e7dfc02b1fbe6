import CZlib

/// zlib's raw streams (RFC 1951) as objects that free them. A stream's memory does not move, because zlib points back
/// at it.
enum Zlib {
  /// CRC-32, as of RFC 1952 section 8.
  static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    UInt32(truncatingIfNeeded: crc32_z(0, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count))
  }

  /// What ends every flushed block, and is left out on the wire (RFC 7692 section 7.2.1).
  private static let tail: [UInt8] = [0, 0, 0xff, 0xff]

  /// Compresses messages one by one, none of which refers to another.
  final class Deflater {
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

    /// Base-2 logarithms of the windows that zlib compresses with; the smallest of RFC 7692 is not among them.
    static let windowBits = 9...15

    /// The fastest level: everybody else waits while a message is compressed.
    init(windowBits: Int) {
      stream.initialize(to: z_stream())
      guard gw_deflate_init(stream, Z_BEST_SPEED, Int32(-windowBits)) == Z_OK else { fatalError("out of memory") }
    }

    deinit {
      deflateEnd(stream)
      stream.deallocate()
    }

    /// Writes the compressed form into `output`. Nil unless it is smaller than the message; `output` needs room for
    /// `roomBeyond` bytes more than the message has.
    func deflate(_ message: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int? {
      guard let input = UInt32(exactly: message.count), message.count > 0 else { return nil }
      deflateReset(stream)
      stream.pointee.next_in = UnsafeMutablePointer(mutating: message.bindMemory(to: UInt8.self).baseAddress)
      stream.pointee.avail_in = input
      let room = min(output.count, message.count + Self.roomBeyond)
      stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
      stream.pointee.avail_out = UInt32(room)
      guard CZlib.deflate(stream, Z_SYNC_FLUSH) == Z_OK, stream.pointee.avail_out > 0 else { return nil }
      let count = room - Int(stream.pointee.avail_out) - Zlib.tail.count
      return count < message.count ? count : nil
    }

    static let roomBeyond = 4
  }

  /// Takes compressed messages apart.
  final class Inflater {
    enum Outcome: Equatable {
      /// So many bytes of the message were written, which is not all; so many of the compressed form were not read yet.
      case part(Int, unread: Int)
      /// How many bytes were written.
      case done(Int)
      case tooLarge
      /// No DEFLATE data, or not to its end.
      case garbage
    }

    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

    /// With the largest window, which reads what smaller ones wrote.
    init() {
      stream.initialize(to: z_stream())
      guard gw_inflate_init(stream, -15) == Z_OK else { fatalError("out of memory") }
    }

    deinit {
      inflateEnd(stream)
      stream.deallocate()
    }

    /// Forgets earlier messages.
    func reset() { inflateReset(stream) }

    /// Inflates a message into a buffer that grows as far as it must, and stops at `limit`. Behind the first `done`
    /// bytes of it come up to `portion` more; the message is to be given without what was read of it before.
    func inflate(
      _ message: UnsafeRawBufferPointer, limit: Int, into buffer: GrowingBuffer, behind done: Int = 0,
      portion: Int = .max
    ) -> Outcome {
      var count = done
      let end = portion < .max - done ? done + portion : .max
      switch feed(message, limit: limit, &count, buffer, end: end) {
      case .bad: return count > limit ? .tooLarge : .garbage
      case .full: return .part(count, unread: Int(stream.pointee.avail_in))
      case .whole: break
      }
      let length = count
      let ended = Zlib.tail.withUnsafeBytes { feed($0, limit: limit, &count, buffer, end: .max) == .whole }
      // The tail has to end a block with nothing in it, and not to be taken for data of a block that was cut short.
      return ended && count == length && stream.pointee.data_type & 0xff == 128 ? .done(count) : .garbage
    }

    private enum Feeding {
      /// All of it was inflated.
      case whole
      /// `end` was reached before.
      case full
      /// The data is bad, or `count` passed the limit.
      case bad
    }

    private func feed(
      _ part: UnsafeRawBufferPointer, limit: Int, _ count: inout Int, _ buffer: GrowingBuffer, end: Int
    ) -> Feeding {
      guard let input = UInt32(exactly: part.count) else { return .bad }
      stream.pointee.next_in = UnsafeMutablePointer(mutating: part.bindMemory(to: UInt8.self).baseAddress)
      stream.pointee.avail_in = input
      while true {
        if count == buffer.bytes.count { buffer.grow(atMost: limit + 1) }
        let room = min(buffer.bytes.count - count, end - count, Int(Int32.max))
        stream.pointee.next_out = buffer.bytes.bindMemory(to: UInt8.self).baseAddress.map { $0 + count }
        stream.pointee.avail_out = UInt32(room)
        let result = CZlib.inflate(stream, Z_SYNC_FLUSH)
        count += room - Int(stream.pointee.avail_out)
        guard count <= limit else { return .bad }
        switch result {
        case Z_OK, Z_BUF_ERROR: if stream.pointee.avail_in == 0, stream.pointee.avail_out > 0 { return .whole }
        // A final block; others may follow (section 7.2.3.4), and may refer to what came before it.
        case Z_STREAM_END: if inflateResetKeep(stream) != Z_OK || stream.pointee.avail_in == 0 { return .whole }
        default: return .bad
        }
        if count == end { return .full }
      }
    }
  }
}
