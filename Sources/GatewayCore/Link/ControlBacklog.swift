/// How much of what no program asked for waits to be sent: pongs, errors, answers that the server demands, signs of
/// life. The sends of programs are refused when too many wait; these are not refused, so a server that asks and does
/// not read would make us hoard without end. Each transport has one, and ends when it is full.
///
/// It does not wait for an empty queue, which a busy link may never have. Beside the bytes stands where they end in the
/// stream; those of two ages are kept apart, and the older ones go when the peer has taken all of them.
public struct ControlBacklog: Equatable, Sendable {
  private struct Age: Equatable {
    var count = 0
    /// Behind the last of them, counted in bytes from the beginning of the stream.
    var end = 0
  }

  /// Most bytes that may wait. One message is let through in any case.
  public let limit: Int
  private var older = Age()
  private var newer = Age()
  /// More than the limit was waiting; final.
  public private(set) var isFull = false

  public init(limit: Int) { self.limit = limit }

  /// Notes `count` bytes that were just put at the end of the queue.
  /// - Parameters:
  ///   - taken: bytes of the stream that the peer's side has taken so far, whatever they were.
  ///   - waiting: bytes that wait, the new ones included.
  public mutating func add(_ count: Int, taken: Int, waiting: Int) {
    if older.end <= taken { (older, newer) = (newer, Age()) }
    if older.end <= taken { older = Age() }
    newer.count += count
    newer.end = taken + waiting
    if older.count + newer.count > limit, older.count + newer.count > count { isFull = true }
  }
}

extension UpstreamFailure {
  /// A server asks for answers and does not read them.
  public static func unreadAnswers(limit: Int) -> UpstreamFailure {
    UpstreamFailure(
      .protocolError,
      "the server does not read the answers that it asks for: more than \(limit) bytes of them wait (answer_limit)")
  }
}
