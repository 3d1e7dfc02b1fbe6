/// The local clients that are connected, as many as users may have.
final class LocalClients {
  private var sessions = NumberTable<LocalSession>()
  /// The same in their order, to be gone through in portions.
  private var order = SortedSet<UInt64>()
  /// Those that have left, and have not given back everything yet.
  private var leaving = NumberTable<LocalSession>()
  private var places: SharedLimit
  private var nextNumber: UInt64 = 1
  /// How many calls of a client wait for the state of a connection, by its number; of those that have any.
  private var waits: [UInt64: Int] = [:]

  init(_ bounds: SharedBounds) { places = SharedLimit(bounds) }

  var count: Int { sessions.count }
  var all: some Sequence<LocalSession> { sessions.values }

  /// The numbers of those that are connected now, the oldest first: each is looked for when its turn has come, and left
  /// out if it has left by then.
  func numbersInTurn() -> AnyIterator<UInt64> {
    let end = nextNumber
    var last: UInt64?
    return AnyIterator { [weak self] in
      guard let next = self?.order.first(behind: last), next < end else { return nil }
      last = next
      return next
    }
  }

  /// How many each user has, the most first; a place that is about to be given back counts.
  var countsByUser: [(uid: UInt32, count: Int)] {
    let counts = places.all.compactMap { account, count -> (uid: UInt32, count: Int)? in
      guard case .user(let uid) = account, count > 0 else { return nil }
      return (uid, count)
    }
    return counts.sorted { ($1.count, $0.uid) < ($0.count, $1.uid) }
  }

  /// The client of a number, unless it has left.
  subscript(number: UInt64) -> LocalSession? { sessions[number] }

  /// The client whose calls are told of their ends: also one that has left, until the last of its calls is taken back.
  func caller(_ number: UInt64) -> LocalSession? { sessions[number] ?? leaving[number] }

  /// The client that is called so in answers, unless it has left.
  subscript(labelled label: String) -> LocalSession? {
    guard let client = UInt64(label.dropFirst()).flatMap({ sessions[$0] }), client.label == label else { return nil }
    return client
  }

  /// Whether a user may have one more; `quota` is what this user may have, where that is another number than others'.
  func check(for user: UInt32, quota: Int?) throws(SharedBounds.Overrun) {
    try places.check(for: .user(user), share: quota ?? places.share)
  }

  /// Takes in a program that has connected. `hasPlace`: it counts as one of those that may be, which there is room for.
  func add(_ peer: PeerCredentials, in gateway: Gateway, tag: Int, hasPlace: Bool) -> LocalSession {
    let session = LocalSession(
      number: nextNumber, peer: peer, gateway: gateway, output: gateway.outputs.add(tag: tag, for: .user(peer.uid)),
      hasPlace: hasPlace)
    nextNumber += 1
    sessions[session.number] = session
    order.insert(session.number)
    if hasPlace { places.count(for: .user(peer.uid)) }
    return session
  }

  /// Its socket is closed. Its place is free with `giveBackPlace`. False if it was not there any more.
  func remove(_ session: LocalSession) -> Bool {
    guard sessions.removeValue(forKey: session.number) != nil else { return false }
    order.remove(session.number)
    leaving[session.number] = session
    return true
  }

  /// Everything that a client held is given back.
  func giveBackPlace(of session: LocalSession) {
    leaving[session.number] = nil
    if session.hasPlace { places.giveBack(for: .user(session.peer.uid)) }
  }

  /// As many as another configuration allows, from now on.
  func adopt(_ bounds: SharedBounds) { places.bounds = bounds }

  /// Other rules hold: what a client may not do any more ends.
  func checkRights() {
    for session in sessions.values { session.checkRights() }
  }

  // MARK: - Those that wait

  /// A client has one more call that waits for the state of a connection.
  func countWait(of session: LocalSession) { waits[session.number, default: 0] += 1 }

  /// It has one less.
  func giveBackWait(of session: LocalSession) {
    let left = (waits[session.number] ?? 1) - 1
    waits[session.number] = left > 0 ? left : nil
  }

  private var waiting: [LocalSession] { waits.isEmpty ? [] : waits.keys.compactMap { sessions[$0] } }

  /// The gateway begins to stop: what clients wait for in connections has no use for them any more.
  func endWaitsForStates() {
    for session in waiting { OpenWait.endAll(in: session) }
  }

  // MARK: - The end

  /// Another daemon is about to go on with all of them.
  func prepareHandover() {
    for session in waiting { OpenWait.endReached(in: session) }
    for session in sessions.values { session.prepareHandover() }
  }

  /// It does not.
  func abandonHandover() {
    for session in sessions.values { session.abandonHandover() }
  }

  /// The gateway stops: nothing will happen any more that open calls could wait for.
  func endWaits() {
    for session in sessions.values { session.endWaits() }
  }

  /// Tells every client why the daemon ends, and when to come back.
  func sayGoodbye(_ reason: String, reconnectIn: () -> Duration) {
    for session in sessions.values {
      session.endWaits()
      session.say(LocalNotification.goodbye(reason: reason, reconnectIn: reconnectIn()))
      session.closeWhenFlushed()
    }
  }
}
