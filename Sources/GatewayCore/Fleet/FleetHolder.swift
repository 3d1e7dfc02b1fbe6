/// The program at the host that holds an upstream: it has an ordinary connection to the server, says to all hosts what it
/// hears (`FleetPublisher`), and writes what they say (`FleetWriter`), behind what hosts that died have left
/// (`FleetAdoption`). On a host that does not hold it watches the lease (`FleetLeaseRunner`).
final class FleetHolder {
  private let engine: any FleetEngine
  private let timers: Timers
  private let random: any RandomSource
  /// Of the connection to the server.
  let connector: FleetTapConnector
  private let runner: FleetLeaseRunner
  private let hosts: FleetHosts
  private let reach: FleetReach
  private let upReading: FleetUpReading
  private let drain: FleetDrain
  private let adoption: FleetAdoption
  let publisher: FleetPublisher
  private let outcomes = FleetOutcomes()
  private weak var tap: FleetTap?
  /// Of the present conversation.
  private(set) var writer: FleetWriter?
  /// The conversation that is being closed in order: its hosts know how far their calls were written, and none is any more.
  private var settled: UInt64?
  /// Of the last one, until what the server's machine had of it is noted.
  private var endingWriter: FleetWriter?
  private var readUp = FleetUpPlace()
  /// Entries that were taken since the engine last forgot some.
  private var taken = (count: 0, bytes: 0)
  private static let trimStep = (count: 256, bytes: 1 << 20)
  /// Bytes of what the server has said that the engine has not taken, beyond which the server is read no further until the
  /// engine has taken half: what stands there holds up the signs of life of all upstreams.
  static let readAheadLimit = 1 << 20
  private var isWanted = false
  /// What the last beat has said of the link to the server.
  private var toldTrouble: FleetTrouble?
  private(set) var counters = FleetCounters()
  /// No event of the present conversation has an earlier time: what another host has said in the same epoch has that.
  private var earliest: UInt64 = 0
  /// It takes no lease, whoever has it.
  var abstains: Bool {
    get { runner.abstains }
    set { runner.abstains = newValue }
  }

  /// The connection to the server is wanted from now on, or not any more; then it is closed in order.
  var onWant: (Bool) -> Void = { _ in }
  /// The link to the server must not write another byte.
  var onCut: () -> Void = {}
  /// The lease is given away because the server is not reached, or what the hosts say cannot be read.
  var onYield: () -> Void = {}
  /// This host's user may not take the lease.
  var onForbidden: () -> Void {
    get { runner.onForbidden }
    set { runner.onForbidden = newValue }
  }
  /// It is taken, or given up.
  var onReport: (FleetReport) -> Void {
    get { runner.onReport }
    set { runner.onReport = newValue }
  }
  /// Why the link to the server is down; nil while it is up, and before anything has failed.
  var trouble: () -> UpstreamFailure? = { nil }
  /// The version that the fleet is to speak from now on.
  var version: () -> UInt64 = { FleetWire.versions.upperBound }
  /// Its turn among the hosts that would take a lease that nobody holds.
  var rank: () -> FleetRank {
    get { runner.rank }
    set { runner.rank = newValue }
  }
  /// The time of the last event of an epoch that this host has heard, as every host does; 0 where there is none.
  var lastTime: (_ epoch: String) -> UInt64 = { _ in 0 }
  /// The wall clock.
  var wallMilliseconds: () -> Int64 {
    get { runner.wallMilliseconds }
    set { runner.wallMilliseconds = newValue }
  }

  init(
    _ settings: FleetSettings, _ connector: any UpstreamConnector, engine: any FleetEngine, timers: Timers,
    random: any RandomSource, tops: @escaping () -> FleetTops
  ) {
    self.engine = engine
    self.timers = timers
    self.random = random
    self.connector = FleetTapConnector(connector)
    runner = FleetLeaseRunner(settings, engine: engine, timers: timers, random: random, tops: tops)
    hosts = FleetHosts(settings, engine: engine, timers: timers)
    reach = FleetReach(patience: settings.yield, timers: timers)
    upReading = FleetUpReading(settings, engine: engine, timers: timers)
    publisher = FleetPublisher(settings.place, engine: engine, timers: timers, grace: settings.grace)
    adoption = FleetAdoption(settings.place, engine: engine, timers: timers)
    drain = FleetDrain(timers: timers)
    self.connector.holder = self
    runner.onOrder = { [weak self] in self?.follow($0) }
    runner.onBeat = { [weak self] in self?.complete(&$0) }
    runner.onBeaten = { [weak self] in self?.beaten($0, isLate: $1) }
    runner.onFenced = { [weak self] in self?.counters.fences += 1 }
    publisher.onOpen = { [weak self] in self?.begin($0) }
    publisher.onFenced = { [weak self] in self?.runner.tell(.fenced) }
    publisher.onDoubt = { [weak self] in self?.lookAtTerm() }
    publisher.onTaken = { [weak self] in self?.paceServer() }
    reach.onYield = { [weak self] in self?.yield("it does not reach the server, and another host may") ?? true }
    upReading.isHolding = { [weak self] in self.map { $0.runner.isHolding && $0.mayWrite } ?? false }
    upReading.onFailure = { [weak self] in self?.cannotRead($0) ?? true }
    drain.isQuiet = { [weak self] in self?.isDrained ?? true }
    drain.onEnd = { [weak self] _ in self?.drained() }
    adoption.onReady = { [weak self] in self?.readOn() }
    adoption.onAdopted = { [weak self] in self?.counters.adopted += UInt64($0) }
    adoption.onRemoved = { [weak self, place = settings.place] in
      self?.onReport(.removed(upstream: place.upstream, namespace: place.namespace, rows: $0))
    }
    adoption.onFenced = { [weak self] in self?.runner.tell(.fenced) }
    hosts.onLook = { [weak self] in
      guard let self else { return }
      adoption.note(hosts.rows)
      if runner.isHolding { adoption.adoptAgain(hosts.rows) }
    }
    hosts.onSilent = { [weak self] host, row in
      guard let self, runner.isHolding else { return }
      adoption.adopt(host, row)
    }
    engine.add(self)
  }

  private var place: FleetPlace { runner.settings.place }
  var lease: FleetLease { runner.lease }
  /// Whether this host holds, also where its lease has lapsed: until it knows of another holder.
  var holds: Bool { lease.own != nil }
  /// Whether it does and may write now: what people and monitoring are told, because another host may hold otherwise.
  var mayWrite: Bool { timers.now < limit }
  /// Whether it does not hold, or will not any more.
  var givesLinkAway: Bool { !runner.isHolding }
  /// The process ends, and with it the link, whoever shares it.
  var isLast = false
  /// Whether this host holds, or has asked for it.
  var holdsOrTakes: Bool { holds || lease.isTaking }
  /// Nothing is written to the server from then on.
  var limit: MonotonicInstant { lease.mayWriteUntil ?? MonotonicInstant(nanoseconds: .min) }
  /// What this host writes for hosts that died.
  var adopted: FleetAdoptedSends { adoption.sends }

  /// A host has said that its link has ended.
  func otherClosed() { runner.tell(.closed) }

  /// Gives the lease to another host, for a reason in a clause.
  func leave(_ why: String = "this host was told to give it up, or stops") {
    runner.leave(why)
  }

  /// Takes the lease again that it has given back, where no other host has.
  func takeBack() { runner.tell(.takeBack) }

  /// Gives it away, for a reason in a clause. False where no other host would take it.
  private func yield(_ why: String) -> Bool {
    guard runner.isHolding, hosts.isOtherWilling(for: runner.settings.agreement) else { return false }
    onYield()
    leave(why)
    return true
  }

  /// Nobody is to take this host for one that hears what is said: it gives the lease away, or has no link until it can.
  private func cannotRead(_ failure: UpstreamFailure) -> Bool {
    if yield("\(failure.detail); another host may be able to") { return true }
    want(false)
    tellTrouble()
    return false
  }

  /// What this host has to have like the others is another now. As long as it holds, that is what counts.
  func adopt(_ agreement: FleetAgreement) { runner.adopt(agreement) }

  /// This host has another name from now on: another daemon has the old one, and what it held, or has had the new one.
  func rename(_ host: String) {
    hosts.rename(host)
    runner.rename(host)
  }

  // MARK: - The lease

  /// What the lease orders for the link to the server.
  private func follow(_ order: FleetLease.Action) {
    switch order {
    case .begin(let taken): begin(taken)
    case .extend(let limit): extend(limit)
    case .lapse: lapse()
    case .cut: cut()
    case .end: end()
    case .drain: beginDrain()
    case .look, .take, .beat, .release, .distrust, .wake: break
    }
  }

  private func complete(_ beat: inout FleetBeat) {
    beat.version = hosts.version(runner.settings.versions) ?? version()
    beat.sequence = publisher.sequence
    readUp.beats()
    beat.census = hosts.census
    // The beat of a host that has cut its link says that it lives, and comes before the end of the conversation.
    beat.trouble = (linkTrouble ?? publisher.unsaidEnd).map { [own = beat.own] in FleetTrouble($0, of: own) }
    toldTrouble = beat.trouble
  }

  /// Why there is no link to the server.
  private var linkTrouble: UpstreamFailure? { upReading.failure ?? trouble() }

  /// The hosts are told at once why there is no link to the server, unless the last beat has said so.
  func tellTrouble() {
    guard let own = lease.own, let trouble = linkTrouble.map({ FleetTrouble($0, of: own) }), trouble != toldTrouble
    else { return }
    runner.tell(.news)
  }

  /// The term goes on at this server: it may be told again what it has lost.
  private func beaten(_ beaten: FleetBeaten, isLate: Bool) {
    if isLate { counters.lateBeats += 1 }
    if let top = beaten.up, readUp.isBackAtStart(behind: top), let writer, writer.isReading, !writer.isFull { readOn() }
    publisher.heal()
    writer?.heal()
    endingWriter?.heal()
    // It was not known yet when the beat was sent.
    tellTrouble()
  }

  /// The engine refused what a holder may do.
  private func lookAtTerm() {
    runner.lookAtTerm { [weak self] in
      self?.timers.after(FleetRefusal.pause) { [weak self] in self?.publisher.openAgain() }
    }
  }

  private func begin(_ taken: FleetTaken) {
    guard let own = lease.own else { return }
    counters.takeOvers += 1
    publisher.begin(own, taken)
    connector.resumption = taken.isSameRun ? taken.resumption : nil
    adoption.begin(own)
    hosts.begin()
    reach.settle()
    reach.lost()
    upReading.begin()
  }

  private func extend(_ limit: MonotonicInstant) {
    connector.tap?.mayWrite(until: limit)
    guard runner.isHolding else { return }
    writer?.mayWrite(until: limit)
    want(upReading.failure == nil)
  }

  private func want(_ wants: Bool) {
    guard wants != isWanted else { return }
    isWanted = wants
    onWant(wants)
  }

  private func lapse() {
    counters.lapses += 1
    upReading.lapsed()
    writer?.mayWrite(until: nil)
    connector.tap?.mayWrite(until: limit)
    // The kernel would send the rest after that instant.
    if (connector.tap?.unsentBytes ?? 0) > 0 { onCut() }
  }

  private func cut() {
    connector.tap?.mayWrite(until: limit)
    onCut()
    want(false)
  }

  private func end() {
    endingWriter?.finish()
    publisher.end()
    closeWriter()
    adoption.end()
    hosts.end()
    reach.settle()
    upReading.end()
    drain.stop()
    cut()
  }

  // MARK: - Leaving

  private func beginDrain() {
    // What waits goes back to its hosts with the end of the conversation.
    writer?.mayWrite(until: nil)
    drain.begin()
  }

  /// The server's machine has everything that was written, and that is noted.
  private var isQuiet: Bool { endingWriter == nil && writer?.isQuiet != false && (tap?.unsentBytes ?? 0) == 0 }

  /// Nor do the hosts wait to hear of it, as far as they can.
  private var isDrained: Bool {
    guard isQuiet, let writer else { return isQuiet }
    return writer.isSettled || !writer.maySettle
  }

  private func drained() {
    if isQuiet {
      settled = writer.flatMap { $0.isSettled ? $0.conversation : nil }
    } else {
      // The next host writes from now on, whatever is left of the lease.
      connector.tap?.mayWrite(until: MonotonicInstant(nanoseconds: .min))
      onCut()
    }
    want(false)
    runner.tell(.drained)
  }

  // MARK: - The conversation with the server

  func opened(_ tap: FleetTap) {
    // A server that is reached at once is not kept waiting for what is left of the last conversation.
    endingWriter?.finish()
    self.tap = tap
    reach.settle()
    let goesOn = tap.isRecovered && !publisher.epoch.isEmpty
    publisher.opened(
      newEpoch: goesOn ? nil : "e" + String(random.bits() & 0xff_ffff_ffff, radix: 36),
      tap.sessionPlace, hosts: max(1, hosts.livingCount))
    earliest = lastTime(publisher.epoch)
  }

  /// The conversation has its number.
  private func begin(_ opened: FleetOpened) {
    guard let tap, let own = lease.own else { return }
    let writer = FleetWriter(
      opened, own, place, engine: engine, timers: timers, tap: tap, confirmed: connector.confirmedInterests,
      tries: adoption.tries, outcomes: outcomes, wall: { [weak self] in self?.wallMilliseconds() ?? 0 }
    ) { [connector] in
      connector.check($0, acknowledged: $1)
    }
    self.writer = writer
    writer.onFenced = { [weak self] in self?.runner.tell(.fenced) }
    writer.onTaken = { [weak self] in self?.paceServer() }
    writer.onRoom = { [weak self, weak writer] in
      if let self, writer === self.writer, engine.server != nil { readOn() }
    }
    readUp.go(to: opened.up)
    writer.mayWrite(until: lease.mayWriteUntil)
    adoption.opened(writer, hosts.rows)
  }

  /// What hosts say is taken from the engine, from where it was left.
  private func readOn() { engine.readOn(place.key(.up), after: readUp.position, for: self) }

  /// A message of so many bytes was written for a host.
  func wrote(_ size: Int) { counters.sent.count(size) }

  /// The server said something to programs. `time` is what the connection to the server gives it, `offset` where a recovery
  /// would go on behind it.
  func heard(_ content: FleetTap.Content, ack: UInt64?, time: Int64?, offset: String?) {
    counters.received.count(content.size)
    let question = ack.flatMap { id in
      writer?.ask(id, named: content.name).map { FleetEvent.Question(id: id, host: $0) }
    }
    if let ack, question == nil { tap?.decline(ack, .unheard) }
    let time = max(earliest, UInt64(max(0, time ?? wallMilliseconds())))
    let head = FleetEvent.Head(time: time, epoch: publisher.epoch, offset: offset, question: question)
    publisher.publish(content.entry(head), offset: offset)
    paceServer()
  }

  func heard(reply call: FleetReplyEntry.Call) {
    writer?.heard(reply: call)
    paceServer()
  }

  func heard(withdrawal ack: UInt64) { writer?.heard(withdrawal: ack) }

  /// The server is read as fast as the engine takes what it says.
  private func paceServer() {
    let unsent = publisher.unsentBytes + (writer?.unsentBytes ?? 0)
    if unsent > Self.readAheadLimit {
      tap?.holdReading(true)
    } else if unsent <= Self.readAheadLimit / 2 {
      tap?.holdReading(false)
    }
  }

  /// What the server's machine has by now is written, and in no later conversation once more.
  func ends(_ tap: FleetTap) {
    if tap === self.tap { writer?.linkEnds() }
  }

  func ended(_ tap: FleetTap, _ failure: UpstreamFailure?) {
    guard tap === self.tap else { return }
    self.tap = nil
    if holds { reach.lost() }
    // What it has heard since then may be on its way to the hosts, who were told before how far their calls were written.
    let isSettled = failure == nil && writer.map { $0.conversation == settled && $0.maySettle } ?? false
    let end = failure ?? ownEnd
    // Hosts take for lost what they have not been told by then.
    closeWriter(failure) { [weak self] in self?.publisher.ended(end, isSettled: isSettled) }
    // The next conversation goes on behind what was said to the hosts, and not behind what was heard here.
    if let known = connector.resumption, holds, known.offset != publisher.offset {
      let said = publisher.offset
      connector.resumption = said.isEmpty ? nil : Resumption(session: known.session, offset: said)
    }
  }

  /// Why the link has ended where this host has closed it.
  private var ownEnd: UpstreamFailure {
    if case .leaving = lease.state { return .linkGivenAway }
    return upReading.failure ?? UpstreamFailure(.fleet, "the holder closed its link")
  }

  /// `done` is called when what the server's machine had is noted: at once, unless that is much.
  private func closeWriter(_ failure: UpstreamFailure? = nil, _ done: @escaping () -> Void = {}) {
    let closed = writer
    (writer, endingWriter) = (nil, closed)
    adoption.closed()
    engine.readNoMore(place.key(.up), for: self)
    guard let closed else { return done() }
    closed.close(failure) { [weak self] in
      self?.endingWriter = nil
      done()
    }
  }
}

extension FleetHolder: FleetEngineReceiver {
  func engineGained(_ server: FleetServer) {
    hosts.engineGained()
    runner.tell(.gained(run: server.run))
    if let writer, writer.isReading { readOn() }
    adoption.engineGained()
  }

  func engineLost(_ failure: UpstreamFailure) {
    readUp.go(to: .start)
    publisher.engineLost()
    writer?.engineLost()
    endingWriter?.engineLost()
    runner.tell(.lost)
  }

  func engineRead(_ records: [FleetRecord], of key: FleetKey) {
    guard key.part == .up, let writer else { return }
    for record in records {
      readUp.go(to: record.position)
      if let entry = FleetUpEntry(record.fields) { writer.take(entry) }
    }
    taken.count += records.count
    taken.bytes += records.reduce(0) { $0 + $1.byteCount }
    if taken.count >= Self.trimStep.count || taken.bytes >= Self.trimStep.bytes {
      taken = (0, 0)
      // The writer has them; with the end of the conversation they count for nothing.
      engine.trim(key, before: readUp.position)
    }
    writer.flush()
    if writer.isFull { engine.readNoMore(key, for: self) }
  }

  func engineReachedEnd(of key: FleetKey) {}
}
