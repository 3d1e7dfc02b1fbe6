@testable import GatewayCore

/// An engine whose server is a store in memory. What goes there and back takes time; the link may be cut, and then a part
/// of what was on its way still arrives, or does so twice. Everything that it tells its host goes through `deliver`, so
/// that a host may stand still.
final class FleetMemoryEngine: FleetEngine, FleetStoreListener {
  /// How the way to the store is.
  struct Way {
    var delay: ClosedRange<Int64> = 0...0
    /// Of the appends that arrive twice, in per mille.
    var doubled: UInt64 = 0
    /// How long it takes to find the server again, in milliseconds.
    var reach: ClosedRange<Int64> = 0...0
    /// Nil: there is none.
    var isOpen = true
  }

  private struct Pending {
    let number: UInt64
    let fail: () -> Void
  }

  private struct Followed {
    /// Tells one asking from another.
    let id: UInt64
    let key: FleetKey
    weak var receiver: (any FleetEngineReceiver)?
    var position: FleetPosition
    var reachesEnd: Bool
  }

  let rank: Int
  private let store: FleetStore
  private let network: Timers
  private let random: FakeRandom
  var way = Way()
  /// Replicas that have to confirm what must last.
  var copies = 0
  /// Whether they do.
  var isCopied = true
  /// How the host hears of things.
  var deliver: (@escaping () -> Void) -> Void = { $0() }
  private(set) var server: FleetServer?
  let roundTrip: Duration? = nil
  /// What it refuses, and why it is not reached, as the test says.
  var failure: UpstreamFailure?
  private(set) var vainFailure: UpstreamFailure?
  var refusals: [FleetPlace: UpstreamFailure] = [:]
  var onReport: (FleetReport) -> Void = { _ in }
  /// The tables whose rows were asked for.
  var read: Set<FleetKey> = []
  /// Most bytes of rows that were read at once.
  private(set) var largestRead = 0
  /// Most rows that were to be removed at once.
  var largestRemoval = 0
  /// What they do not confirm.
  var uncopied: Set<FleetStepName> = []
  /// What this host may not do.
  var refused: Set<FleetStepName> = []
  var isRemovalRefused = false
  /// Tables whose rows it may not read.
  var unreadable: Set<FleetKey> = []
  /// Streams that it may not read.
  var unreadableStreams: Set<FleetKey> = [] {
    didSet { if !followed.isEmpty { scheduleRead() } }
  }
  /// Calls without an outcome.
  var pendingCount: Int { pending.count }
  /// How often something was to be added to a stream.
  private(set) var appends = 0
  /// How often it was asked for anything while it was reached.
  private(set) var asked = 0

  func refusal(of place: FleetPlace) -> UpstreamFailure? { refusals[place] }

  /// Another engine for each upstream, as with a cluster; nil: this one.
  var makeShare: (() -> any FleetEngine)?
  func share(of place: FleetPlace) -> any FleetEngine { makeShare?() ?? self }

  private var receivers: [any FleetEngineReceiver] = []
  /// Which connection it is, and which one its host knows of: that hears of an end later.
  private var connection = 0
  private var known = 0
  /// The last connection of which something was lost on its way to the store.
  private var lost = 0
  private var pending: [Pending] = []
  private var nextNumber: UInt64 = 1
  private var followed: [Followed] = []
  private var readIsDue = false
  private var isReaching = false
  /// Nothing arrives before what was sent earlier.
  private var lastArrival = MonotonicInstant(nanoseconds: 0)
  private var lastReply = MonotonicInstant(nanoseconds: 0)
  private var lastRead = MonotonicInstant(nanoseconds: 0)

  init(_ store: FleetStore, network: Timers, random: FakeRandom, rank: Int = 0) {
    self.store = store
    self.network = network
    self.random = random
    self.rank = rank
  }

  // MARK: - The connection

  /// Looks for the server.
  func begin() {
    guard server == nil, !isReaching else { return }
    isReaching = true
    network.after(some(way.reach)) { [weak self] in
      guard let self else { return }
      isReaching = false
      guard way.isOpen, store.isUp else {
        vainFailure = failure ?? UpstreamFailure(.unreachable, "the store is down")
        network.after(.milliseconds(50)) { [weak self] in self?.begin() }
        return
      }
      connection += 1
      let (reached, found) = (connection, FleetServer(run: store.run))
      store.add(self)
      deliver { [weak self] in
        guard let self, connection == reached else { return }
        (server, failure, vainFailure, known) = (found, nil, nil, reached)
        for receiver in receivers { receiver.engineGained(found) }
      }
    }
  }

  /// It is still not reached, for that reason.
  func miss(_ failure: UpstreamFailure) {
    self.failure = failure
    for receiver in receivers { receiver.engineMissed() }
  }

  /// The link breaks. Of what is on its way to the store a part still arrives, in its order.
  func cut() {
    store.remove(self)
    let broken = connection
    connection += 1
    deliver { [weak self] in self?.lose(broken) }
  }

  func storeBroke() { cut() }

  private func lose(_ broken: Int) {
    let wasReached = server != nil
    server = nil
    followed = []
    let unanswered = pending
    pending = []
    for call in unanswered { call.fail() }
    if wasReached {
      let failure = UpstreamFailure(.closed, "the link to the store broke")
      self.failure = failure
      for receiver in receivers { receiver.engineLost(failure) }
    }
    begin()
  }

  func distrust() { cut() }

  func add(_ receiver: any FleetEngineReceiver) {
    receivers.append(receiver)
    guard let server else { return }
    let present = connection
    network.after(.zero) { [weak self, weak receiver] in
      guard let self, connection == present, let receiver else { return }
      deliver { receiver.engineGained(server) }
    }
  }

  func remove(_ receiver: any FleetEngineReceiver) {
    receivers.removeAll { $0 === receiver }
    followed.removeAll { $0.receiver === receiver }
  }

  private func some(_ range: ClosedRange<Int64>) -> Duration {
    .milliseconds(range.lowerBound + Int64(random.bits() % UInt64(range.upperBound - range.lowerBound + 1)))
  }

  // MARK: - Calls

  /// Sends a call: `act` is done at the store, and what it returns tells the caller.
  private func call<Value>(
    repeats: Bool = false, _ act: @escaping (FleetStore) -> FleetOutcome<Value>,
    _ done: @escaping (FleetOutcome<Value>) -> Void
  ) {
    guard let server else {
      deliver { [network] in network.after(.zero) { done(.unanswered) } }
      return
    }
    asked += 1
    let number = nextNumber
    nextNumber += 1
    pending.append(Pending(number: number) { done(.unanswered) })
    let (sent, run) = (known, server.run)
    lastArrival = max(lastArrival, network.now + some(way.delay))
    let isDoubled = repeats && random.bits() % 1_000 < way.doubled
    network.at(lastArrival) { [weak self, store] in
      // What was on its way to a process that has ended arrives nowhere.
      guard store.isUp, store.run == run, let self else { return }
      // Of what was on its way when the link broke the first part arrives all the same: nothing does behind what is lost.
      guard connection == sent || lost < sent && random.bits() % 2 == 0 else { return lost = max(lost, sent) }
      let outcome = act(store)
      if isDoubled { _ = act(store) }
      guard connection == sent else { return }
      lastReply = max(lastReply, network.now + some(way.delay))
      network.at(lastReply) { [weak self] in
        guard let self, connection == sent else { return }
        deliver { [weak self] in self?.answer(number, sent) { done(outcome) } }
      }
    }
  }

  private func answer(_ number: UInt64, _ sent: Int, _ tell: () -> Void) {
    guard let place = pending.firstIndex(where: { $0.number == number }) else { return }
    pending.remove(at: place)
    tell()
  }

  func append(
    _ fields: FleetFields, to key: FleetKey, at position: FleetPosition?,
    _ done: @escaping (FleetOutcome<FleetPosition>) -> Void
  ) {
    appends += 1
    call(
      repeats: true,
      { $0.isFull ? .refused(.full) : $0.append(fields, to: key, at: position).map { .done($0) } ?? .fenced }, done)
  }

  func trim(_ key: FleetKey, before position: FleetPosition) {
    call({ store in .done(store.trim(key, before: position)) }, { (_: FleetOutcome<Void>) in })
  }

  func newest(of key: FleetKey, _ done: @escaping (FleetOutcome<FleetRecord?>) -> Void) {
    call({ .done($0.newest(of: key)) }, done)
  }

  func names(of key: FleetKey, _ done: @escaping (FleetOutcome<FleetNames>) -> Void) {
    call({ .done(FleetNames($0.rows(of: key).keys.sorted())) }, done)
  }

  func sizes(of key: FleetKey, _ names: [String], _ done: @escaping (FleetOutcome<[Int]>) -> Void) {
    call({ store in .done(names.map { store.rows(of: key)[$0]?.count ?? 0 }) }, done)
  }

  func rows(of key: FleetKey, _ names: [String]?, _ done: @escaping (FleetOutcome<[String: [UInt8]]>) -> Void) {
    read.insert(key)
    let wanted = names.map { Set($0) }
    let isRefused = unreadable.contains(key)
    call(
      { [weak self] store in
        if isRefused { return .refused(.forbidden("this user has no permissions")) }
        let rows = store.rows(of: key).filter { wanted?.contains($0.key) ?? true }
        if let self { largestRead = max(largestRead, rows.values.reduce(0) { $0 + $1.count }) }
        return .done(rows)
      }, done)
  }

  func remove(_ names: [String], of key: FleetKey, _ done: @escaping (FleetOutcome<Void>) -> Void) {
    largestRemoval = max(largestRemoval, names.count)
    let isRefused = isRemovalRefused
    call({ isRefused ? .refused(.forbidden("this user has no permissions")) : .done($0.remove(names, of: key)) }, done)
  }

  func run<Step: FleetStep>(_ step: Step, _ done: @escaping (FleetOutcome<Step.Result>) -> Void) {
    let (copies, isCopied) = (copies, isCopied && !uncopied.contains(Step.name))
    let isRefused = refused.contains(Step.name)
    call(
      { store in
        if isRefused { return .refused(.forbidden("this user has no permissions")) }
        if store.isBoxFull, Step.name == .put { return .refused(.full) }
        switch store.run(Step.name, step.keys, step.arguments) {
        case .fenced: return .fenced
        case .reply(let reply):
          if copies > 0, Step.name.mustLast {
            guard isCopied else { return .uncopied }
            store.copyToReplica()
          }
          return Step.result(reply).map { .done($0) } ?? .refused(.other("a reply that makes no sense"))
        }
      }, done)
  }

  // MARK: - Reading

  func readOn(_ key: FleetKey, after position: FleetPosition, for receiver: any FleetEngineReceiver) {
    guard server != nil else { return }
    followed.removeAll { $0.key == key && $0.receiver === receiver }
    nextNumber += 1
    followed.append(Followed(id: nextNumber, key: key, receiver: receiver, position: position, reachesEnd: true))
    scheduleRead()
  }

  /// What is read on, in its order.
  var reads: [String] { followed.map(\.key.text) }

  func note(hosts: Int, of place: FleetPlace) {}

  func readNoMore(_ key: FleetKey, for receiver: any FleetEngineReceiver) {
    followed.removeAll { $0.key == key && $0.receiver === receiver }
  }

  func storeChanged(_ key: FleetKey) {
    if followed.contains(where: { $0.key == key }) { scheduleRead() }
  }

  /// What is there then is read at once, in the order of the streams.
  private func scheduleRead() {
    guard !readIsDue else { return }
    readIsDue = true
    let asked = connection
    network.after(some(way.delay)) { [weak self] in
      guard let self else { return }
      readIsDue = false
      guard connection == asked else {
        if server != nil, !followed.isEmpty { scheduleRead() }
        return
      }
      var read: [(id: UInt64, tell: () -> Void)] = []
      for at in followed.indices {
        guard let receiver = followed[at].receiver else { continue }
        let (id, key) = (followed[at].id, followed[at].key)
        guard !unreadableStreams.contains(key) else {
          followed[at].reachesEnd = true
          read.append((id, { receiver.engineRefusedReading(of: key) }))
          continue
        }
        let records = store.records(of: key, after: followed[at].position)
        if let last = records.last {
          followed[at].position = last.position
          read.append((id, { receiver.engineRead(records, of: key) }))
        }
        if followed[at].reachesEnd {
          followed[at].reachesEnd = false
          read.append((id, { receiver.engineReachedEnd(of: key) }))
        }
      }
      lastRead = max(lastRead, network.now + some(way.delay))
      network.at(lastRead) { [weak self] in
        guard let self, connection == asked else { return }
        deliver { [weak self] in
          guard let self else { return }
          for item in read where connection == asked && server != nil && followed.contains(where: { $0.id == item.id })
          {
            item.tell()
          }
        }
      }
    }
  }
}
