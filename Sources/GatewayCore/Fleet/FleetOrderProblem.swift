/// What may be in the way of an order that concerns a link of the fleet: to give it to another host, to give up everything, or
/// to forget a host.
enum FleetOrderProblem: Error, Equatable {
  case notReached(UpstreamFailure)
  case refused(FleetRefusal)
  /// This host's user may not write the lease, as one that never holds need not. The sentence is the engine's.
  case mayNotMove(String)
  /// No host ever held it.
  case neverHeld
  /// There is none of that name; these there are.
  case unknownHost([String])
  case mayNotHold
  /// Its process has ended in order.
  case isStopped
  /// It has these settings of the upstream otherwise than the fleet, and would leave the link alone.
  case differs([String])
  /// Nothing was heard of it for so long that it counts as dead.
  case isSilent
  /// It has the link, but this host, `*` for any, was ordered before to have it next.
  case isToGo(String)
  /// No other host may hold.
  case nobodyElse
  /// None of those that could have it has said that it lives when it was asked.
  case noAnswer
  /// Another one was faster.
  case tookOther(String)
  /// No other has taken it, so that the one which gave it away has it again.
  case cameBack(String)
  /// No host has taken it in time.
  case tooLate
  /// This host was told meanwhile to take links again.
  case isWantedAgain
}

extension FleetOrderProblem {
  /// Why the engine cannot be told anything of an upstream.
  init(unreached link: FleetLink) {
    if let refusal = link.roster.refusal {
      self = .refused(refusal)
    } else {
      self = .notReached(link.engine.failure ?? .fleetNotReached)
    }
  }
}
