import CLinux
import GatewayCore

/// Has the kernel give up what it cannot deliver on one TCP socket soon after the instant up to which this host may write,
/// also while this process stands still: at its next try to deliver, some tenths of a second later. What the far end's
/// machine goes on taking is delivered even then. The kernel counts from the beginning of a stall, in which that machine
/// takes nothing; while this host lives that instant moves on, and must not end what only takes long. Decision 0130.
struct KernelLimit {
  /// How much later than allowed the kernel may give up what is written before it is told anew: for a busy connection it
  /// is not told at each write.
  static let tolerance: Duration = .milliseconds(100)

  /// How far the far end's machine has come, at one look.
  struct Delivery: Equatable {
    /// Bytes that it has acknowledged.
    var acknowledged: UInt64
    /// It has not acknowledged all.
    var isWaiting: Bool
  }

  /// What it had acknowledged when it was first seen to stand there; nil where it has everything.
  private var stall: (acknowledged: UInt64, since: MonotonicInstant)?
  /// How long bytes may be unacknowledged, as the kernel was told last; nil before it was told.
  private var timeout: Duration?

  /// How long bytes may be unacknowledged: as long as they have been by now, as far as that was seen, and up to the limit.
  /// What is not known of `delivery` counts as a stall that begins now.
  mutating func timeout(until limit: MonotonicInstant, at now: MonotonicInstant, _ delivery: Delivery?) -> Duration {
    let timeout = limit - stalled(at: now, delivery)
    self.timeout = timeout
    return timeout
  }

  /// Since when nothing was acknowledged.
  private mutating func stalled(at now: MonotonicInstant, _ delivery: Delivery?) -> MonotonicInstant {
    guard let delivery, delivery.isWaiting else {
      stall = nil
      return now
    }
    if let stall, stall.acknowledged == delivery.acknowledged { return stall.since }
    stall = (delivery.acknowledged, now)
    return now
  }

  /// Whether the kernel would keep what is written now for longer than it may: the time that it was told counts from the
  /// write, unless a stall began before.
  func outlasts(_ limit: MonotonicInstant, at now: MonotonicInstant) -> Bool {
    timeout.map { now + $0 > limit + Self.tolerance } ?? true
  }

  /// To be called before bytes are written.
  mutating func tighten(to limit: MonotonicInstant, of socket: Int32, at now: MonotonicInstant) {
    if outlasts(limit, at: now) { set(limit, of: socket, at: now) }
  }

  /// Nothing is changed where the limit has passed: it is for the owner to end the connection then.
  mutating func set(_ limit: MonotonicInstant, of socket: Int32, at now: MonotonicInstant) {
    guard limit > now else { return }
    let timeout = timeout(until: limit, at: now, Self.delivery(of: socket))
    // The kernel takes it for a signed number.
    gw_limit_unacknowledged(socket, UInt32(Int32(clamping: max(1, timeout.milliseconds))))
  }

  private static func delivery(of socket: Int32) -> Delivery? {
    var delivery = gw_delivery()
    guard gw_read_delivery(socket, &delivery) == 0 else { return nil }
    return Delivery(acknowledged: delivery.acknowledged, isWaiting: delivery.is_waiting != 0)
  }
}
