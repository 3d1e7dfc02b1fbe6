/// A line went on beyond the limit; what follows on this stream cannot be told apart any more.
public struct LineTooLong: Error, Equatable, Sendable {
  /// The limit in bytes.
  public var limit: Int
}

/// Cuts a stream of bytes into lines, the same lines for every way in which the stream arrives. A line ends with `\n`;
/// a `\r` right before it belongs to the line end. Empty lines are left out unless they are asked for.
public struct LineBuffer {
  let limit: Int
  private let keepsEmptyLines: Bool
  /// The beginning of a line whose end has not arrived. Given back with the line, so that an idle client costs nothing.
  private var pending: [UInt8] = []

  /// `limit` is the longest line in bytes, without its line end.
  public init(limit: Int, keepsEmptyLines: Bool = false) {
    self.limit = limit
    self.keepsEmptyLines = keepsEmptyLines
  }

  /// Nothing is waiting for its line end.
  public var isEmpty: Bool { pending.isEmpty }

  /// Bytes of the line whose end has not arrived.
  public var pendingCount: Int { pending.count }

  /// Shows the line whose end has not arrived, without a `\r` that may belong to the line end.
  public func withPending(_ body: (RawSpan) -> Void) {
    let text = pending.span.bytes
    let isCut = pending.last == UInt8(ascii: "\r")
    body(text.extracting(0..<text.byteCount - (isCut ? 1 : 0)))
  }

  /// Hands over the beginning of a line; the rest of it is another's affair.
  mutating func takePending() -> [UInt8] {
    defer { pending = [] }
    return pending
  }

  /// Takes back what `takePending` handed over.
  mutating func putBack(_ start: [UInt8]) { pending = start }

  /// Hands every line that ends in `chunk` to `line`, without its line end. A line that lies inside the chunk is handed
  /// out as a part of it, without a copy. The span is valid only during the call, and the body must not touch this
  /// buffer. Throws as soon as a line exceeds the limit, after the lines before it were handed out; the buffer is of no
  /// use afterwards.
  public mutating func append(_ chunk: RawSpan, _ line: (RawSpan) -> Void) throws(LineTooLong) {
    var start = 0
    while let end = Self.newline(in: chunk, from: start) {
      try take(chunk.extracting(start..<end), line)
      start = end &+ 1
    }
    guard start < chunk.byteCount else { return }
    try keep(chunk.extracting(start..<chunk.byteCount))
  }

  /// The same for a piece in which a line end stands last or nowhere.
  mutating func append(piece: RawSpan, _ line: (RawSpan) -> Void) throws(LineTooLong) {
    if let end = Self.lineEnd(of: piece) { try take(piece.extracting(0..<end), line) } else { try keep(piece) }
  }

  /// Where the line end stands with which a piece ends; nil if it has none.
  static func lineEnd(of piece: RawSpan) -> Int? {
    let last = piece.byteCount &- 1
    return last >= 0 && JSONScanner.byte(piece, last) == UInt8(ascii: "\n") ? last : nil
  }

  /// The rest of a line, whose end was found.
  private mutating func take(_ rest: RawSpan, _ line: (RawSpan) -> Void) throws(LineTooLong) {
    if pending.isEmpty {
      try hand(rest, to: line)
    } else {
      try keep(rest)
      let whole = pending
      pending = []
      try hand(whole.span.bytes, to: line)
    }
  }

  private func hand(_ whole: RawSpan, to line: (RawSpan) -> Void) throws(LineTooLong) {
    var length = whole.byteCount
    if length > 0, JSONScanner.byte(whole, length &- 1) == UInt8(ascii: "\r") { length &-= 1 }
    guard length <= limit else { throw LineTooLong(limit: limit) }
    if length > 0 || keepsEmptyLines { line(whole.extracting(0..<length)) }
  }

  /// A piece of a line whose end is not known yet. One byte beyond the limit may still be the `\r` of the line end.
  private mutating func keep(_ piece: RawSpan) throws(LineTooLong) {
    let excess = pending.count &+ piece.byteCount &- limit
    guard excess <= 1 else { throw LineTooLong(limit: limit) }
    makeRoom(pending.count &+ piece.byteCount)
    pending.append(piece)
    guard excess < 1 || pending.last == UInt8(ascii: "\r") else { throw LineTooLong(limit: limit) }
  }

  private mutating func makeRoom(_ count: Int) {
    if let capacity = Self.growth.capacity(for: count, over: pending.capacity, limit: limit &+ 1) {
      pending.reserveCapacity(capacity)
    }
  }

  /// A line is copied at most twice on the way to a megabyte, and from there to 64 MiB once more: from half a megabyte
  /// on, copying takes milliseconds where memory is new.
  static let growth = BufferGrowth(longFrom: longLine, hugeFrom: 512 << 10)
  /// From this length on, in bytes, a line is long.
  public static let longLine = 64 << 10

  /// The place of the next `\n`, looked for 32 and then eight bytes at a time.
  static func newline(in chunk: RawSpan, from start: Int) -> Int? {
    let ones: UInt64 = 0x0101_0101_0101_0101
    var at = start
    let (vectorOnes, ends) = (SIMD4<UInt64>(repeating: ones), SIMD4<UInt64>(repeating: ones &* 0x0a))
    while at &+ 32 <= chunk.byteCount {
      let difference = chunk.unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: SIMD4<UInt64>.self) ^ ends
      let marked = (difference &- vectorOnes) & ~difference
      guard (marked[0] | marked[1] | marked[2] | marked[3]) & (ones &* 0x80) == 0 else { break }
      at &+= 32
    }
    while at &+ 8 <= chunk.byteCount {
      let word = chunk.unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: UInt64.self).littleEndian
      let difference = word ^ (ones &* 0x0a)
      let marked = (difference &- ones) & ~difference & (ones &* 0x80)
      if marked != 0 { return at &+ marked.trailingZeroBitCount &>> 3 }
      at &+= 8
    }
    while at < chunk.byteCount {
      if JSONScanner.byte(chunk, at) == UInt8(ascii: "\n") { return at }
      at &+= 1
    }
    return nil
  }
}
