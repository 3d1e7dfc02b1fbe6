/// Work for one message of a server that takes much longer than it usually does, such as comparing its name with a thousand globs.
/// Whoever does it notes it here, and whoever reads the server's bytes looks at the clock after the message, instead of after a
/// few more. Decision 0101.
public final class UnusualWork {
  /// Whether so much was done since the clock was looked at that it is worth a look.
  public private(set) var isMuch = false
  private var bytes = 0
  /// About a tenth of a millisecond.
  private static let limit = 64 << 10

  public init() {}

  /// So many bytes were looked at.
  public func note(_ count: Int) {
    bytes += count
    if bytes >= Self.limit { isMuch = true }
  }

  /// The clock is looked at.
  public func begin() { (isMuch, bytes) = (false, 0) }
}
