/// Cuts what a local client sends into lines, as `LineBuffer` does, and takes those that become long apart while they
/// come in.
public struct RequestBuffer {
  private var lines: LineBuffer
  private var long: LongLine?

  /// `limit` is the longest line in bytes, without its line end.
  public init(limit: Int) { lines = LineBuffer(limit: limit) }

  /// Nothing is waiting for its line end.
  public var isEmpty: Bool { lines.isEmpty && long == nil }

  /// So much of a line came without its end that it takes memory of its own.
  public var isLong: Bool { long != nil || lines.pendingCount >= LineBuffer.longLine }

  /// Bytes of the line whose end has not arrived.
  public var pendingCount: Int { lines.pendingCount + (long?.heldCount ?? 0) }

  /// The line whose end has not arrived, as it was received. Of one that is no JSON already what came since is missing.
  public var received: [UInt8] {
    if let long { return long.received }
    var lines = lines
    return lines.takePending()
  }

  /// Takes a piece of what was sent, in which a line end stands last or nowhere. As in `LineBuffer`; a line of which more
  /// than `longFrom` bytes came without its end may come with a long member that was taken out of it.
  public mutating func append(
    piece: RawSpan, longFrom: Int = LineBuffer.longLine, _ line: (RawSpan, LongMember?) -> Void
  ) throws(LineTooLong) {
    if let long {
      let end = LineBuffer.lineEnd(of: piece)
      try long.append(piece.extracting(0..<(end ?? piece.byteCount)))
      guard end != nil else { return }
      self.long = nil
      return try long.finish(line)
    }
    let before = lines.pendingCount
    try lines.append(piece: piece) { line($0, nil) }
    guard lines.pendingCount >= longFrom, before < longFrom else { return }
    takeApart()
  }

  private mutating func takeApart() {
    let start = lines.takePending()
    long = LongLine(start, limit: lines.limit)
    if long == nil { lines.putBack(start) }
  }
}
