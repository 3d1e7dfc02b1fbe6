/// What the fleet keeps of this host's durable sends, and what it says of those that another host wrote.
final class FleetSends: OutboxCopies {
  private let fleet: Fleet
  private unowned let relay: OutboxRelay
  /// What waits until the fleet has it.
  private var waiting = IncrementalTable<UInt64, (StorageProblem?) -> Void>()
  /// What hears that the fleet need not have it any more, or not under a former name of this host: there may be several.
  private var needed = IncrementalTable<UInt64, [() -> Void]>()

  /// Why what the fleet has of this host could not be kept here, the last time that it could not: the log says each reason once.
  private var problems: [FleetPlace: StorageProblem] = [:]

  init(_ fleet: Fleet, _ relay: OutboxRelay) {
    self.fleet = fleet
    self.relay = relay
    relay.numberByClock()
    fleet.onSend = { [weak self] in self?.heard($1, of: $0) }
    fleet.whenNeedless = { [weak self] in self?.whenNeedless($0, $1) ?? $1() }
    fleet.onJoin = { [weak self] in self?.joined($0) }
  }

  /// What is carried already is to be in the box before anything is written by way of it.
  private func joined(_ place: FleetPlace) {
    guard let box = fleet.link(of: place)?.box else { return }
    box.beginFilling()
    let target = OutboxTarget(name: .upstream(place.upstream), namespace: place.namespace)
    relay.keepCopies(to: target) { [weak box] in box?.filled() }
  }

  private func box(of target: OutboxTarget) -> FleetBox? {
    target.upstream.flatMap { fleet.link(of: fleet.place($0, target.namespace))?.box }
  }

  var isHome: Bool { fleet.durable == .fleet }
  func covers(_ target: OutboxTarget) -> Bool { box(of: target) != nil }

  func trouble(of target: OutboxTarget) -> StorageProblem? {
    guard isHome, let upstream = target.upstream,
      let trouble = fleet.link(of: fleet.place(upstream, target.namespace))?.trouble
    else { return nil }
    return StorageProblem(
      .failed,
      "the fleet's Redis has not taken it in time (\(trouble.detail)); 'gatewayctl doctor \(upstream)' says what to do")
  }

  func keep(_ entry: OutboxEntry, _ done: @escaping (StorageProblem?) -> Void) {
    guard let box = box(of: entry.target) else { return done(StorageProblem.none) }
    waiting[entry.number] = done
    box.put(entry.number, entry.row)
  }

  func keep(_ entry: OutboxEntry) { box(of: entry.target)?.put(entry.number, entry.row) }
  func drop(_ entry: OutboxEntry) {
    box(of: entry.target)?.finish(entry.number)
    waiting.removeValue(forKey: entry.number)?(nil)
    tellNeedless(entry.number)
  }

  /// A copy of a send is to go. Where the fleet alone has the send it stays until the disk has it, or the fleet under another
  /// name of this host, or until it has its outcome.
  private func whenNeedless(_ number: UInt64, _ done: @escaping () -> Void) {
    guard let record = relay.outbox.usage.record(number), box(of: record.entry.target)?.hasBoxed(number) != true else {
      return done()
    }
    let isAfield = relay.outbox.rows.isAfield(number)
    // What has been on its way to the disk since an earlier time is not afield any more.
    guard isAfield || needed[number] != nil else { return done() }
    needed[number] = (needed[number] ?? []) + [done]
    guard isAfield, !covers(record.entry.target) else { return }
    relay.bringHome(number) { [weak self] in
      guard let self else { return }
      waiting.removeValue(forKey: number)?(nil)
      tellNeedless(number)
    }
  }

  private func tellNeedless(_ number: UInt64) {
    for done in needed.removeValue(forKey: number) ?? [] { done() }
  }

  func withhold(_ entry: OutboxEntry) {
    box(of: entry.target)?.withhold(
      entry.number, entry.row, relay.outbox.rows.isAfield(entry.number) ? .only : .spare)
  }

  // MARK: - The end of the daemon

  func finish(within limit: Duration, _ done: @escaping () -> Void) { finish(by: relay.timers.now + limit, done) }

  private func finish(by deadline: MonotonicInstant, _ done: @escaping () -> Void) {
    guard !waiting.isEmpty else { return done() }
    guard relay.timers.now < deadline else { return bringHome(waiting.pairs.map(\.key).sorted()[...], done) }
    relay.timers.after(.milliseconds(20)) { [weak self] in self?.finish(by: deadline, done) }
  }

  /// The fleet has not said that it has these: the disk gets them, a portion in each turn. Where the fleet has one all the same,
  /// the next process finds it by its id in both, and knows it for one.
  private func bringHome(_ numbers: ArraySlice<UInt64>, _ done: @escaping () -> Void) {
    var (rest, undecided) = (numbers, numbers.count)
    relay.timers.goOn { [weak self] in
      for number in rest.prefix(Self.portion) {
        self?.bringHome(number) {
          undecided -= 1
          if undecided == 0 { done() }
        }
      }
      rest = rest.dropFirst(Self.portion)
      return !rest.isEmpty
    }
  }

  /// Sends that are brought home in one turn, at most.
  private static let portion = 256

  private func bringHome(_ number: UInt64, _ decided: @escaping () -> Void) {
    // The fleet may have answered since.
    guard let kept = waiting.removeValue(forKey: number), let record = relay.outbox.usage.record(number) else {
      return decided()
    }
    let hasDisk = relay.outbox.rows.bringHome(record.snapshot) { problem in
      kept(problem)
      decided()
    }
    guard !hasDisk else { return }
    kept(trouble(of: record.entry.target) ?? .late)
    decided()
  }

  // MARK: - News

  private func heard(_ news: FleetBox.News, of place: FleetPlace) {
    switch news {
    case .boxed(let number):
      waiting.removeValue(forKey: number)?(nil)
      if relay.outbox.rows.isAfield(number) { tellNeedless(number) }
    case .refused(let number, let refusal):
      guard let done = waiting.removeValue(forKey: number) else { return }
      fleet.link(of: place)?.box.finish(number)
      done(StorageProblem(refusal))
    case .adopted(let number): relay.leaveElsewhere(number)
    case .returned(let number): relay.takeBack(number)
    case .outcome(let number, let fields):
      if let end = FleetSendEnd(fields) { relay.conclude(number, end) }
    case .found(let name, let fields):
      let target = OutboxTarget(name: .upstream(place.upstream), namespace: place.namespace)
      guard let entry = OutboxEntry(fields, id: name, to: target) else {
        return fleet.link(of: place)?.box.drop(name) ?? ()
      }
      relay.adopt(entry) { [weak self] in self?.noteFound(name, of: place, $0) }
    case .ended(let name, let fields):
      // The box may not know one that waits for a right. Of what this host has no record there is nothing to be told.
      if let number = relay.outbox.record(name)?.entry.number, let end = FleetSendEnd(fields) {
        relay.conclude(number, end)
      }
    }
  }

  private func noteFound(_ name: String, of place: FleetPlace, _ adoption: OutboxRelay.Adoption) {
    let box = fleet.link(of: place)?.box
    switch adoption {
    case .waiting: break
    // While the fleet could not be told.
    case .ended: box?.drop(name)
    case .taken: box?.findLeft()
    case .unkept(let problem):
      box?.leave(name)
      guard problems.updateValue(problem, forKey: place) != problem else { return }
      fleet.onReport(.unkept(upstream: place.upstream, namespace: place.namespace, detail: problem.message))
    }
  }
}

extension StorageProblem {
  /// Why the engine of a fleet does not keep a send.
  fileprivate init(_ refusal: FleetRefusal) {
    switch refusal {
    case .full: self.init(.full, "the fleet's Redis has no room: its memory is used up")
    case .forbidden(let sentence), .other(let sentence):
      self.init(.failed, "the fleet's Redis did not take it: \(sentence)")
    }
  }
}
