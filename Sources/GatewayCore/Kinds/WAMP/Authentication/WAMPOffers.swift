/// In which order a router is offered what the credentials are enough for.
///
/// First everything at once, from which the router takes what it likes best. Not every router can: Crossbar.io denies a
/// session at the first name that it does not know, and takes the first method that it is configured for, though it knows the
/// user by another. So when a router refuses an offer without having asked for a proof, each method is offered alone, the
/// safest first. What was accepted is offered first the next time. Decision 0097.
final class WAMPOffers {
  /// Of `offers(of:)` the one that is made next.
  private var place = 0
  /// How many of them the router has refused in this attempt.
  private var refused = 0

  /// All that are possible, in their order.
  static func offers(of credentials: WAMPCredentials) -> [[WAMPMethod]] {
    let all = credentials.possible
    return all.count > 1 ? [all] + all.map { [$0] } : [all]
  }

  /// A new attempt, with all offers before it.
  func begin() { refused = 0 }

  /// The offer to make.
  func current(_ credentials: WAMPCredentials) -> [WAMPMethod] {
    let offers = Self.offers(of: credentials)
    return offers[place < offers.count ? place : 0]
  }

  /// The router refused the current offer. Returns whether there is another one.
  func next(_ credentials: WAMPCredentials) -> Bool {
    let count = Self.offers(of: credentials).count
    refused += 1
    guard refused < count else {
      place = 0
      return false
    }
    place = (place + 1) % count
    return true
  }
}
