/// How the subscriptions of a client end that is gone or has to go.
extension LocalSession {
  /// What is ended in one go, where a subscription counts as one and as the names in its filter: about two milliseconds.
  private static let endingPortion = 512

  /// Ends all traces and subscriptions: of very many some now and the others in turns of their own. Then `done` is called.
  func endSubscriptions(_ done: @escaping () -> Void = {}) {
    endTraces()
    guard !endSomeSubscriptions() else { return done() }
    gateway.slicedWork.add(for: .user(peer.uid)) { [self] in
      guard endSomeSubscriptions() else { return false }
      done()
      return true
    }
  }

  /// Returns whether those were all.
  private func endSomeSubscriptions() -> Bool {
    var count = 0
    let some = subscriptions.prefix { _, held in
      defer { count += 1 + held.subscription.filter.size }
      return count < Self.endingPortion
    }
    for id in some.map(\.key).sorted() { removeSubscription(id) }
    return subscriptions.isEmpty
  }
}
