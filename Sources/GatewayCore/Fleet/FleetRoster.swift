/// What a host knows of an upstream's fleet beside its own part, by looking now and then: who holds, and which hosts there
/// are. Every instant is of this host's own clock.
final class FleetRoster {
  private let place: FleetPlace
  private let engine: any FleetEngine
  private let timers: Timers
  /// How long a holder may write after its last beat.
  private let lease: Duration
  /// How long a host is silent before it is taken for dead.
  private let adopt: Duration
  /// How long a holder that no server confirms keeps its link.
  private let grace: Duration
  /// It looks now and then.
  private var isLooking = false
  private var leaseTimer: Timers.ID?
  private var hostsTimer: Timers.ID?

  /// The lease as it was seen last; nil before it was seen at the present server.
  private(set) var record: FleetLeaseRecord?
  /// The same, also where it was seen at a server that is not reached any more: what people are shown, and nothing else.
  private(set) var lastRecord: FleetLeaseRecord?
  /// When the engine was asked for it.
  private(set) var lookAsked: MonotonicInstant?
  /// When it was seen to change, or first, at whatever server.
  private var recordSince: MonotonicInstant?
  /// The holder was not seen to beat for so long that it has cut its link, if it lives: nobody takes what is said in the
  /// conversation that is open, until it beats again or another host holds.
  private(set) var isTermOver = false
  /// All that ever took part, as they were seen last.
  private(set) var hosts: [String: FleetHostRow] = [:]
  private var silence: FleetSilence
  /// When the engine was lost; nil while it is reached. Nobody could be heard since: who lives is as it was then.
  private var lostAt: MonotonicInstant?
  /// The hosts that would take a lease that nobody holds, in their order, as they were seen last.
  private var candidates: [String] = []
  /// Until when it looks at all hosts because somebody has asked.
  private var askedUntil: MonotonicInstant?
  /// Why the last look was in vain; nil where it was not.
  private(set) var refusal: FleetRefusal?

  /// The lease was looked at.
  var onLook: () -> Void = {}

  /// With more hosts than this, each looks at all of them only when somebody asks, and for a while then: where each of N
  /// reads N rows now and then, that is what ends the fleet's growth.
  static let watchLimit: UInt64 = 256
  /// How often all hosts together look at the lease at most, as the time between two looks for each of them.
  static let leaseShare: Duration = .milliseconds(1)

  init(_ settings: FleetSettings, engine: any FleetEngine, timers: Timers) {
    (place, lease, adopt, grace) = (settings.place, settings.lease, settings.adopt, settings.grace)
    silence = FleetSilence(adopt: settings.adopt)
    self.engine = engine
    self.timers = timers
  }

  // MARK: - Looking

  func engineGained() {
    // What was silent could not be heard.
    silence.listenAnew(at: timers.now)
    lostAt = nil
    isLooking = true
    // How many hosts there are stands in the lease.
    lookAtLease { [weak self] in self?.lookAtHosts() }
  }

  /// What was seen last may be of a fleet that its server has lost: it is looked at anew.
  func lookAnew() {
    record = nil
    if isLooking { lookAtLease() }
  }

  func engineLost() {
    record = nil
    lostAt = lostAt ?? timers.now
    stop()
  }

  /// Looks no more.
  func stop() {
    isLooking = false
    timers.cancel(leaseTimer)
    timers.cancel(hostsTimer)
  }

  private func lookAtLease(_ done: @escaping () -> Void = {}) {
    timers.cancel(leaseTimer)
    leaseTimer = timers.after(leaseInterval) { [weak self] in self?.lookAtLease() }
    readLease(done)
  }

  /// How often each host looks at the lease.
  var leaseInterval: Duration { max(lease / 3, Self.leaseShare * Int(clamping: record?.hosts ?? 0)) }

  /// Whether it looks at all hosts now and then.
  private var watches: Bool {
    record?.hosts ?? 0 <= Self.watchLimit || askedUntil.map { timers.now < $0 } == true
  }

  private func lookAtHosts() {
    timers.cancel(hostsTimer)
    guard isLooking else { return }
    hostsTimer = timers.after(adopt / 3) { [weak self] in self?.lookAtHosts() }
    if watches { return readHosts { [weak self] in self?.lookSoonerAtUnknown() } }
    (hosts, candidates) = ([:], [])
    silence.forgetAll()
  }

  /// Of some hosts it is not known yet whether they live: they are not waited for longer than they have to say so.
  private func lookSoonerAtUnknown() {
    guard isLooking, hosts.count <= Self.soonerLimit, hosts.keys.contains(where: { isAlive($0) == nil }) else { return }
    timers.cancel(hostsTimer)
    hostsTimer = timers.after(adopt / 12) { [weak self] in self?.lookAtHosts() }
  }

  /// With more hosts than this all of them wait for the usual look.
  static let soonerLimit = 64

  /// Looks at both now, and goes on with it for long enough to see who lives; `done` is called once, later, whatever came of
  /// it.
  func refresh(_ done: @escaping () -> Void) {
    askedUntil = timers.now + adopt * 2
    readLease {}
    readHosts(done)
  }

  /// The same of the lease alone.
  func readLease(_ done: @escaping () -> Void) {
    let asked = timers.now
    engine.rows(of: place.key(.lease), nil) { [weak self] outcome in
      defer { done() }
      guard let self, engine.server != nil else { return }
      switch outcome {
      case .done(let rows): saw(FleetLeaseRecord(rows), asked: asked)
      case .refused(let refusal):
        self.refusal = refusal
        onLook()
      case .fenced, .unanswered, .uncopied: break
      }
    }
  }

  private func saw(_ seen: FleetLeaseRecord, asked: MonotonicInstant) {
    refusal = nil
    if let record {
      if record.sight != seen.sight { recordSince = timers.now }
    } else if let sign = lastSign(in: seen) {
      recordSince = sign
    }
    // A process that stood still has the answer of before.
    isTermOver = recordSince.map { asked - $0 > lease + grace } ?? false
    // Its beat is heard of more often than its row.
    if let last = record?.sight, let own = seen.own, last.own == seen.sight.own, last.beat != seen.sight.beat {
      silence.hear(own.host, since: lookAsked ?? asked, at: timers.now)
    }
    (record, lastRecord, lookAsked) = (seen, seen, asked)
    engine.note(hosts: Int(clamping: seen.hosts ?? 0), of: place)
    onLook()
  }

  /// When the holder has beaten last, at the latest, as a server shows that was reached just now; nil where that is no news, also
  /// because the server has lost some. A beat that is new here may have come just before a loss.
  private func lastSign(in seen: FleetLeaseRecord) -> MonotonicInstant? {
    guard let lastRecord, let lookAsked, let own = seen.own, let before = lastRecord.own else { return timers.now }
    guard own == before else { return own.term > before.term ? timers.now : nil }
    guard let beats = seen.beats(since: lastRecord), beats > 0 else { return nil }
    return min(timers.now, lookAsked + lease / 3 * (Int(clamping: beats) + 1))
  }

  private func readHosts(_ done: @escaping () -> Void) {
    FleetLook(place: place, engine: engine).begin { [weak self] portion in
      guard let self else { return }
      hosts.merge(portion) { $1 }
      _ = silence.look(portion, at: timers.now)
    } _: { [weak self] names in
      if let self, let names {
        hosts.keep(names)
        findCandidates()
      }
      done()
    }
  }

  private func findCandidates() {
    let willing = hosts.filter { $1.details.mayHold && !$1.details.isReluctant && isAlive($0) != false }
    candidates = willing.sorted {
      ($0.value.details.prefers ? 0 : 1, $0.key) < ($1.value.details.prefers ? 0 : 1, $1.key)
    }.map(\.key)
  }

  // MARK: - What is known

  /// Whether a host lives; nil as long as it was seen only once, and not for long enough, or no host was looked at.
  func isAlive(_ name: String) -> Bool? {
    guard !hosts.isEmpty else { return nil }
    return hosts[name]?.details.isStopped == true ? false : silence.isAlive(name, at: lostAt ?? timers.now)
  }

  /// Whether nothing was heard of a host for so long that it is taken for dead, stopped or not.
  func isSilent(_ name: String) -> Bool { silence.isAlive(name, at: lostAt ?? timers.now) == false }

  /// Hosts that are not known to be dead, in no order.
  var present: [String] { hosts.keys.filter { isAlive($0) != false } }

  /// How many these are; where they are not looked at, as many as the holder says.
  var presentCount: Int {
    hosts.isEmpty ? Int(clamping: lastRecord?.hosts ?? 0) : hosts.keys.count { isAlive($0) != false }
  }

  /// How long ago a host was heard, at most: what it says is seen at the next look. Nil where it never was.
  func silence(of name: String) -> Duration? { silence.heard(name).map { timers.now - $0 } }

  /// How long the holder's lease lasts without another beat, as far as it was seen; nil where no host holds, or where this
  /// one of too many looks too seldom to know.
  var leaseLeft: Duration? {
    guard let record, record.holder?.isEmpty == false, let recordSince, leaseInterval < lease else { return nil }
    return max(.zero, recordSince + lease - timers.now)
  }

  /// The version that the fleet is to speak: the lowest of those that its hosts speak, of which `versions` are known here;
  /// where they were not looked at, the one that it speaks.
  func version(_ versions: ClosedRange<UInt64>) -> UInt64 {
    let seen = hosts.isEmpty ? record?.version : present.compactMap { hosts[$0]?.details.version }.min()
    let lowest = seen ?? versions.upperBound
    return min(max(lowest, versions.lowerBound), versions.upperBound)
  }

  /// The turn of a host when nobody holds any more. Where the others are not looked at it is a guess by its name, among as
  /// many as the holder has counted.
  func rank(of host: String, prefers: Bool) -> FleetRank {
    guard !hosts.isEmpty else {
      let count = max(1, record?.willing ?? 1)
      let place = host.utf8.reduce(0 as UInt64) { ($0 &* 31 &+ UInt64($1)) % count }
      return FleetRank(
        place: prefers ? 0 : Int(clamping: place), yields: !prefers && record?.isPreferred == true)
    }
    let before = candidates.prefix { $0 != host }.filter { $0 != record?.holder }
    return FleetRank(
      place: before.count, yields: !prefers && before.contains { hosts[$0]?.details.prefers == true })
  }

  /// Whether a host whose programs do not use the upstream need take part no longer. One that may hold stays for hosts that
  /// are not idle and were not taken for dead, and as long as no host has the link; the one that has it stays for all that
  /// have not left, or the link would go round. One that may not hold could not have the link opened again: it stays for as
  /// long as another host may hold.
  func isDispensable(_ host: String, mayHold: Bool, holds: Bool) -> Bool {
    guard let record, !hosts.isEmpty else { return false }
    func others(are isMeant: (FleetHostDetails) -> Bool) -> Bool {
      hosts.allSatisfy { $0.key == host || $0.value.isAdopted || isMeant($0.value.details) }
    }
    guard mayHold else { return !holds && others(are: { !$0.mayHold }) }
    let isOtherHolding = record.holder.map { !$0.isEmpty && $0 != host } == true && leaseLeft != .zero
    guard holds || isOtherHolding else { return false }
    return others(are: { $0.isIdle && (!holds || $0.isStopped) })
  }

  /// Other hosts that may hold, have the settings of the fleet, and are not known to be dead.
  func heirs(of host: String) -> [String] {
    let agreement = record?.agreement ?? FleetAgreement()
    return present.filter { name in
      guard name != host, let details = hosts[name]?.details else { return false }
      return details.mayHold && details.agreement.differences(from: agreement).isEmpty
    }.sorted()
  }
}
