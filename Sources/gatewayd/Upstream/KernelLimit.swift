import CLinux
import GatewayCore

/// Has the kernel give up what it cannot deliver on one TCP socket by the instant up to which this host may write, also
/// while this process stands still. The kernel counts from the beginning of a stall, in which the far end's machine takes
/// nothing; while this host lives that instant moves on, and must not end what only takes long. Decision 0130.
struct KernelLimit {
  /// How far the far end's machine has come, at one look.
  struct Delivery: Equatable {
    /// Bytes that it has acknowledged.
    var acknowledged: UInt64
    /// It has not acknowledged all.
    var isWaiting: Bool
  }

  /// What it had acknowledged when it was first seen to stand there; nil where it has everything.
  private var stall: (acknowledged: UInt64, since: MonotonicInstant)?

  /// How long bytes may be unacknowledged: as long as they have been by now, as far as that was seen, and up to the limit.
  /// What is not known of `delivery` counts as a stall that begins now.
  mutating func timeout(until limit: MonotonicInstant, at now: MonotonicInstant, _ delivery: Delivery?) -> Duration {
    guard let delivery, delivery.isWaiting else {
      stall = nil
      return limit - now
    }
    if let stall, stall.acknowledged == delivery.acknowledged { return limit - stall.since }
    stall = (delivery.acknowledged, now)
    return limit - now
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
