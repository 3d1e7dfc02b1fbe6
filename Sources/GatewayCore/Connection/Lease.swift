/// One local program's hold on a connection, the flyweight's extrinsic state. The set of leases, by number and not a
/// counter, says whether a connection is occupied, so that giving one back twice is harmless.
public struct Lease: Hashable, Sendable {
  /// Unique within the connection.
  public let number: UInt64
  public let purpose: Purpose

  /// What the hold is for.
  public enum Purpose: Hashable, Sendable {
    case subscription
    case call
  }
}
