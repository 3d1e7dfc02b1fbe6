/// How far the queue of a connection has flowed to the present link, and how fast it may. What queued up before the
/// link opened has a pace, so that a server that comes back is not flooded; what came later has none.
struct CommandFlow {
  /// The first place that was not offered to the link.
  var next: UInt64 = 0
  /// The flow stopped in the middle of the queue, and goes on later.
  var isPaused = false
  /// Where what queued up before the link opened ends.
  private var backlogEnd: UInt64 = 0
  /// Commands per second; nil sets no pace.
  private var rate: Int?
  private var began = MonotonicInstant(nanoseconds: 0)
  private var written = 0

  /// Bytes that the link has not taken, beyond which nothing more is written from a queue. Of a link that hosts share these
  /// are the bytes that the holder has not confirmed.
  static let byteLimit = 1 << 20
  /// Commands of the outbox that the link has not taken, beyond which nothing more is written from the queue. Of a link that
  /// hosts share these are all calls that the holder has not confirmed.
  static let handedOverLimit = 4_096
  /// How long a pause lasts.
  static let pause: Duration = .milliseconds(10)
  /// The first pause before it is looked again whether the kernel has taken everything; each next one is twice as long,
  /// up to `pause`.
  static let shortestPause: Duration = .milliseconds(1)

  init() {}

  init(backlogEnd: UInt64, rate: Int?, began: MonotonicInstant) {
    self.backlogEnd = backlogEnd
    self.rate = rate
    self.began = began
  }

  /// Whether what stands at a place may be written now; counts it if so.
  @inline(__always)
  mutating func admits(
    _ place: UInt64, now: @autoclosure () -> MonotonicInstant, unsentBytes: Int, handedOver: Int
  ) -> Bool {
    guard unsentBytes < Self.byteLimit, handedOver < Self.handedOverLimit else { return false }
    guard let rate, place < backlogEnd else { return true }
    return keepsPace(rate, at: now())
  }

  private mutating func keepsPace(_ rate: Int, at now: MonotonicInstant) -> Bool {
    let seconds = Double((now - began).nanoseconds) / 1e9
    // What one pause lets through is the least that can be written at once.
    let allowed = (seconds + Self.pauseSeconds) * Double(rate)
    guard Double(written) < max(1, allowed) else { return false }
    written += 1
    return true
  }

  private static let pauseSeconds = Double(pause.nanoseconds) / 1e9
}
