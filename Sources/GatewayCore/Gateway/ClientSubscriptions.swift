/// A subscription of a local client, and what the client holds for it: the connection, its lease on it, and room for
/// its filter.
struct HeldSubscription {
  let subscription: Subscription
  let connection: Connection
  let lease: Lease
  /// What its filter takes of the user's share.
  let filter: FilterHold
  /// How the client named the upstream.
  let target: CallTarget

  /// What its end counts among `Departures`: itself one, and one each of the names in its filter, of the messages that it
  /// holds, which may have to be undone at the server, and of the events that it was to answer and that still wait.
  var endCost: Int {
    let unanswered = subscription.feed.pointee.answers ? subscription.queued.count : 0
    return 1 + subscription.filter.size + subscription.enters.count + unanswered
  }

  /// For a hand-over: the call that goes on with it in another daemon, as soon as what waits and is no event is written.
  func continuation() -> SubscribeCall {
    let stream = connection.stream
    let behind = subscription.writeNotices()
    let left = behind ?? (stream.epoch, stream.sequence)
    // Nor has one that was told nothing yet of what the link keeps.
    let hasPlace = behind != nil || !stream.isUnbegun && subscription.passedOver == nil
    return SubscribeCall(
      target: target, events: subscription.filter.events,
      // An epoch without a beginning has nothing that could be missed, and the next daemon does not know it.
      resume: !hasPlace ? nil : .since(epoch: left.epoch, sequence: left.sequence),
      options: subscription.options, subscription: subscription.id, enters: subscription.enters,
      withheld: subscription.withheld)
  }
}

/// The subscriptions of one local client, and what waits in all their queues, in bytes, against what may wait there.
final class ClientSubscriptions {
  private var held: [ExactText: HeldSubscription] = [:]
  /// The number of the next one that the client has no id for.
  var nextID: UInt64 = 1
  /// Those that end because the client leaves, the next one last.
  private var leaving: [String] = []
  /// Events dropped for subscriptions that are gone by now.
  private var droppedBefore: UInt64 = 0
  /// In the queues of all of them.
  private(set) var queuedBytes = 0
  /// What will be there, of subscriptions whose past is still looked through.
  private var pendingBytes = 0
  /// What waits counts as; nil until something does.
  private var memory: MemoryHold?
  private let user: AccessIdentity
  private let output: ClientOutputs.Pointer
  private unowned let gateway: Gateway

  init(of user: AccessIdentity, in gateway: Gateway, before output: ClientOutputs.Pointer) {
    self.user = user
    self.gateway = gateway
    self.output = output
  }

  private var account: Account { user.account }

  var count: Int { held.count }
  var isEmpty: Bool { held.isEmpty }
  var all: some Collection<HeldSubscription> { held.values }

  subscript(id: String) -> HeldSubscription? { held[ExactText(id)] }

  /// Events dropped for all of them, and for earlier ones.
  var dropped: UInt64 { held.values.reduce(droppedBefore) { $0 + $1.subscription.dropped } }

  /// Events that wait in all of them.
  var queuedCount: Int { held.values.reduce(0) { $0 + $1.subscription.queued.count } }

  // MARK: - Coming and going

  /// An id for a subscription whose client has none for it.
  func makeID() -> String {
    repeat {
      let id = "s\(nextID)"
      nextID += 1
      if self[id] == nil { return id }
    } while true
  }

  /// Begins to deliver. `onOverrun` is called where the client has to be let go because of it.
  func add(_ new: HeldSubscription, onOverrun: @escaping () -> Void) {
    let (subscription, connection, output) = (new.subscription, new.connection, output)
    held[ExactText(subscription.id)] = new
    gateway.quotas.countSubscription(for: account)
    subscription.onQueued = { [unowned self] in noteQueued($0) }
    subscription.onLostToken = { [unowned connection] in connection.answers.missed([$0], by: output) }
    subscription.onOverrun = onOverrun
    subscription.clientHasRoom = { [unowned self] in $0 <= room && budget.hasRoom(for: $0, of: account) }
    connection.stream.add(subscription)
    connection.enters.add(subscription)
  }

  /// Ends one; false if there is none of that id.
  @discardableResult
  func remove(_ id: String) -> Bool {
    guard let gone = detach(id) else { return false }
    answersMayHaveEnded(of: gone)
    return true
  }

  /// The same, while another one takes its place.
  func detach(_ id: String) -> HeldSubscription? {
    guard let gone = held.removeValue(forKey: ExactText(id)) else { return nil }
    gateway.quotas.giveBackSubscription(for: account)
    let (subscription, connection) = (gone.subscription, gone.connection)
    connection.stream.remove(subscription)
    noteQueued(-subscription.queued.bytes)
    droppedBefore += subscription.dropped
    if subscription.feed.pointee.answers, connection.answers.hasPending {
      connection.answers.missed(subscription.queuedTokens(), by: output)
    }
    let unread = subscription.takeBacklog()
    gateway.shares.work.release(unread.past, for: account)
    gateway.shares.work.release(unread.since, for: account)
    connection.interests.giveBack(subscription.interests)
    connection.enters.remove(subscription, of: user)
    connection.giveBack(gone.lease)
    return gone
  }

  /// Without a subscription that answers, a client can answer nothing of that connection.
  func answersMayHaveEnded(of gone: HeldSubscription) {
    guard gone.subscription.feed.pointee.answers else { return }
    let canAnswer = held.values.contains {
      $0.subscription.feed.pointee.answers && $0.connection === gone.connection
    }
    if !canAnswer { gone.connection.answers.left(by: output) }
  }

  // MARK: - Queues

  /// The client has read: what waits moves up.
  func pump() {
    // Whatever waits has some bytes.
    guard queuedBytes > 0 else { return }
    for one in held.values { one.subscription.pump() }
  }

  private func noteQueued(_ difference: Int) {
    queuedBytes += difference
    countWaiting()
  }

  /// So much more of the past, or less, is held for subscriptions that have not begun.
  func notePending(_ difference: Int) {
    pendingBytes += difference
    countWaiting()
  }

  private var budget: MemoryBudget { gateway.seams.memory.send }

  private func countWaiting() {
    let waiting = queuedBytes + pendingBytes
    guard waiting > 0 || memory != nil else { return }
    let held = memory ?? MemoryHold(budget, for: account)
    memory = held
    held.set(waiting)
  }

  /// How many bytes of the past may wait: at least what is written at once.
  var replayRoom: Int {
    max(min(room, budget.room(for: account)), ClientOutput.directLimit - output.pointee.count - pendingBytes)
  }

  /// How many more bytes may wait for the client.
  private var room: Int {
    gateway.configuration.limits.clientQueueBytes - queuedBytes - pendingBytes - output.pointee.count
  }

  // MARK: - The end

  /// Delivers nothing more.
  func mute() {
    for one in held.values { one.subscription.mute() }
  }

  /// Ends the next one, and returns what that counts; nil where none is left.
  func removeNext() -> Int? {
    while !held.isEmpty {
      if leaving.isEmpty { leaving = held.keys.prefix(Self.endingOrder).map(\.text).sorted(by: >) }
      guard let id = leaving.popLast(), let cost = self[id]?.endCost else { continue }
      remove(id)
      return cost
    }
    return nil
  }

  /// So many end in the order of their ids, as far as all of them are that few.
  private static let endingOrder = 512
}
