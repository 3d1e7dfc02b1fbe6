/// Ids of WAMP (section "IDs"): integers that a double holds exactly.
enum WAMPID {
  static let range: ClosedRange<UInt64> = 1...1 << 53
}

/// The ids of our requests in one session: one sequence for requests of every type, from 1 in steps of 1, because strict
/// routers take a gap for a violation.
struct WAMPRequestIDs: Equatable, Sendable {
  /// The id that the next request will have.
  private(set) var next: UInt64 = 1

  init(next: UInt64 = 1) { self.next = next }

  /// Behind the last one comes the first again (section "IDs").
  mutating func take() -> UInt64 {
    defer { next = next < WAMPID.range.upperBound ? next + 1 : 1 }
    return next
  }
}
