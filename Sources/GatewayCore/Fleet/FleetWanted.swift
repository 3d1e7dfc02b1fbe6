/// What the owner of a host's channel wants of the server, and what of that the holder has yet to hear, in its order.
struct FleetWanted {
  private struct Standing {
    var isWanted = false
    /// The holder was told that it is.
    var isSaid = false
    /// There is something to be said of it.
    var waits = false
  }

  private var standings = IncrementalTable<Interest, Standing>()
  private var waiting = Ring<Interest>()

  /// It is wanted from now on, or once more after it was refused.
  mutating func want(_ interest: Interest) { note(interest, isWanted: true) }

  /// It is not wanted any more.
  mutating func drop(_ interest: Interest) {
    if standings[interest] != nil { note(interest, isWanted: false) }
  }

  private mutating func note(_ interest: Interest, isWanted: Bool) {
    var standing = standings[interest] ?? Standing()
    if !standing.waits { waiting.append(interest) }
    (standing.isWanted, standing.waits) = (isWanted, true)
    standings[interest] = standing
  }

  /// What is to be said next, and counts as said from now on; nil for nothing.
  mutating func next() -> FleetUpEntry.Call? {
    while let interest = waiting.popFirst() {
      guard let standing = standings[interest] else { continue }
      if standing.isWanted {
        standings[interest] = Standing(isWanted: true, isSaid: true)
        return .want(interest)
      }
      standings[interest] = nil
      if standing.isSaid { return .drop(interest) }
    }
    return nil
  }
}
