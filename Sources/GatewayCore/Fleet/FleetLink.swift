/// This host's share in one upstream of a fleet, from start to stop: its lives, how far it has read, what it says, and what it
/// knows of the others. Channels come and go above it, the engine below it.
final class FleetLink {
  /// One channel, and the streams that are read for it. Replies are those to the name that this host had when the channel
  /// began: under another name it has another channel.
  private struct Attempt {
    weak var channel: FleetChannel?
    let events: FleetKey
    let replies: FleetKey
  }

  private(set) var settings: FleetSettings
  let engine: any FleetEngine
  let timers: Timers
  private var attempt: Attempt?
  private var channel: FleetChannel? { attempt?.channel }
  private(set) var hearing = FleetHearing()
  let speech: FleetSpeech
  /// The durable sends of this host.
  let box: FleetBox
  let lives: FleetLives
  /// What it knows of the others.
  let roster: FleetRoster
  private let formerNames: FleetFormerNames
  /// Why it can take no part: it has other settings than the fleet, or may not do what every host has to.
  private(set) var objection: UpstreamFailure?
  /// Whether that is a term in which this process holds: what it has counts then, and it has nothing against itself.
  var isOwnTerm: (FleetOwn) -> Bool = { _ in false }
  /// Told once, when an attempt that has failed may go well now.
  var onWay: () -> Void = {}
  /// The link to the server was closed, by whatever host had it.
  var onDown: () -> Void = {}
  /// A program waits for a link that the server refuses.
  var onHurry: () -> Void = {}
  /// Another host than before has it, or none.
  var onHolder: () -> Void = {}
  /// The lease was looked at, or the fleet's server has refused it.
  var onLook: () -> Void = {}
  /// What this host was to be called; nil where it is.
  private var namesake: String?
  /// The one that was seen last.
  private var holder: String?
  /// When it was heard last that a conversation has begun.
  private var opened: MonotonicInstant?
  /// How often hosts had been asked whether they live when the lease was seen last.
  private var asks: UInt64?

  /// Its lives have numbers behind `life`, by the clock: a failover may undo the last ones of an earlier process, whose
  /// numbers the holder knows.
  init(
    _ settings: FleetSettings, engine: any FleetEngine, timers: Timers, life: UInt64 = 0,
    details: FleetHostDetails = FleetHostDetails()
  ) {
    self.settings = settings
    self.engine = engine
    self.timers = timers
    speech = FleetSpeech(settings.place, engine: engine, timers: timers)
    box = FleetBox(settings.place, host: settings.host, engine: engine, timers: timers)
    lives = FleetLives(settings, box, engine: engine, timers: timers, last: life, details: details)
    roster = FleetRoster(settings, engine: engine, timers: timers)
    formerNames = FleetFormerNames(settings, engine: engine, timers: timers)
    roster.onLook = { [weak self] in
      self?.lookedAtLease()
      self?.lives.lookAtOwnRow()
      self?.answer()
      self?.noteHolder()
      self?.onLook()
    }
    box.onSettled = { [weak self] in self?.channel?.lifeBegan() }
    lives.onEnd = { [weak self] in
      self?.roster.lookAnew()
      self?.channel?.end(UpstreamFailure(.fleet, "the fleet took this host for dead"))
    }
    lives.onHeard = { [weak self] in self?.channel?.lifeBegan() }
    lives.onRefusal = { [weak self] in self?.lookedAtLease() }
    engine.add(self)
  }

  var place: FleetPlace { settings.place }
  var host: String { settings.host }
  /// The present life; nil without one.
  var life: UInt64? { lives.present }
  /// The life in which something may be said: where each durable send is, is known.
  var speakingLife: UInt64? { box.isSettled && lives.isHeard && roster.record != nil ? life : nil }
  /// Whether something may be said, and a host would take it.
  var maySpeak: Bool { speakingLife != nil && hasHolder }
  /// How it could take part in the present conversation; nil where there is none, or nothing may be said.
  var part: FleetSpeech.Part? {
    guard let conversation = hearing.present, let life = speakingLife, hasHolder else { return nil }
    return FleetSpeech.Part(host: host, life: life, conversation: conversation, epoch: hearing.epoch)
  }

  /// Whether nothing in the lease says that the conversation which was heard of last has no holder.
  private var hasHolder: Bool {
    // What was looked at before says nothing of one that was opened since.
    if let opened, roster.lookAsked.map({ $0 <= opened }) ?? true { return true }
    guard let record = roster.record, record.own != nil, !roster.isTermOver else { return false }
    // The end of it may still be on its way here.
    return record.trouble == nil || record.conversation != hearing.present
  }

  // MARK: - Channels

  /// One attempt to take part in a conversation. An earlier channel has ended.
  func dial(owner: any UpstreamChannelOwner) -> FleetChannel {
    let channel = FleetChannel(self, owner: owner)
    endReading()
    attempt = Attempt(channel: channel, events: place.key(.events), replies: place.key(.replies(host: host)))
    channel.begin()
    // Whoever dials is not told from within the dialling.
    if engine.server == nil { timers.after(.zero) { [weak channel] in channel?.missesEngine() } }
    if objection != nil { timers.after(.zero) { [weak self] in self?.object() } }
    if engine.server != nil { readOn() }
    return channel
  }

  /// Reads the events up to now, and is told when that is done; not reached, with all else as soon as it is.
  func readToPresent() {
    if engine.server != nil { readEvents() }
  }

  /// The channel has ended: nothing is read until the next one.
  func ended(_ channel: FleetChannel) {
    guard channel === self.channel else { return }
    endReading()
    speech.pause()
  }

  /// What was read for a channel is not read any more, by whatever name this host is called now.
  private func endReading() {
    guard let attempt else { return }
    self.attempt = nil
    for key in [attempt.replies, attempt.events] { engine.readNoMore(key, for: self) }
  }

  /// First the replies: what was answered in a conversation is heard before its end.
  private func readOn() {
    readReplies()
    readEvents()
  }

  private func readReplies() {
    if let attempt { engine.readOn(attempt.replies, after: hearing.readReplies, for: self) }
  }

  private func readEvents() {
    guard let run = engine.server?.run, let key = attempt?.events else { return }
    guard !hearing.goesOn else { return engine.readOn(key, after: hearing.read, for: self) }
    // A server that was master once more than one was has had markers that no other has, nor that one itself once it has
    // followed another.
    engine.newest(of: key) { [weak self] outcome in
      guard let self, channel != nil, engine.server?.run == run else { return }
      var newest: FleetRecord?
      switch outcome {
      case .done(let record): newest = record
      case .refused: break
      case .fenced, .unanswered, .uncopied: return
      }
      if hearing.goOn(to: newest) { readReplies() }
      engine.readOn(key, after: hearing.read, for: self)
    }
  }

  // MARK: - Among the others

  /// This host has another name from now on, because another daemon has the one that it was to have: `namesake`; nil where it
  /// has that again. Returns what is to be taken back of its durable sends under the old one.
  @discardableResult
  func rename(_ host: String, insteadOf namesake: String? = nil) -> FleetWithdrawal? {
    let former = channel
    if self.namesake != nil { formerNames.add(settings.host) }
    formerNames.drop(host)
    self.namesake = namesake
    settings.host = host
    hearing.forgetReplies()
    let copies = box.rename(host)
    lives.rename(host)
    // Its owner looks what was confirmed of what it has said, and may dial at once: by the new name.
    let why = namesake.map { "another daemon of the fleet is called \($0) as well" }
    former?.end(UpstreamFailure(.fleet, why ?? "this host has its own name in the fleet again"))
    speech.forget()
    return copies
  }

  /// What this host has to have like the others is another now.
  func adopt(_ agreement: FleetAgreement) {
    guard agreement != settings.agreement else { return }
    settings.agreement = agreement
    lives.details.agreement = agreement
    lookedAtLease()
  }

  /// The fleet may have agreed upon something else, or the engine have refused what every host has to do.
  private func lookedAtLease() {
    let refused = refusal.map {
      explained(UpstreamFailure(.fleet, $0.sentence(of: engine.server?.address ?? "the fleet's server")))
    }
    let before = objection
    objection = refused ?? roster.record.flatMap { ownsTerm(of: $0) ? nil : settings.objection(to: $0) }
    if objection != nil { return object() }
    if roster.isTermOver { channel?.holderIsSilent() }
    channel?.lifeBegan()
    if before != nil { tellWay() }
  }

  /// What the record has of the fleet's settings is what this host itself has said, perhaps with earlier ones.
  private func ownsTerm(of record: FleetLeaseRecord) -> Bool { record.own.map(isOwnTerm) ?? false }

  /// Says that this host lives, where it was asked since the last look.
  private func answer() {
    guard let record = roster.record else { return }
    defer { asks = record.asks }
    guard let asks, asks != record.asks else { return }
    // Of several questions only the last one is there.
    let isOne = record.asks == asks &+ 1
    if !isOne || record.asked == host || record.asked == "*" && lives.details.mayHold { lives.say() }
  }

  /// Whose it is has to be looked at where it may be that of a holder which is silent, heard once more.
  private func noteOpening() {
    if roster.isTermOver { roster.lookAnew() } else { opened = timers.now }
  }

  private func noteHolder() {
    guard let record = roster.record, record.holder != holder else { return }
    holder = record.holder
    onHolder()
  }

  private func tellWay() {
    let tell = onWay
    onWay = {}
    tell()
  }

  private func object() {
    if let objection { channel?.end(objection) }
  }

  /// The engine's user may have rights for the name that this host was to have, and for no other.
  private func explained(_ failure: UpstreamFailure) -> UpstreamFailure {
    guard let namesake else { return failure }
    return UpstreamFailure(
      failure.reason,
      "another daemon of the fleet is called \(namesake) as well, so that this one is called \(host): \(failure.detail)"
    )
  }

  /// What the engine refuses that every host has to do; nil where it refuses nothing.
  var refusal: FleetRefusal? { lives.refusal ?? roster.refusal }

  /// What it has said and the holder has not confirmed.
  var unconfirmed: Int { channel?.isInConversation == true ? speech.unconfirmed.count : 0 }

  /// Events that this host has not read, as far as the lease tells; nil while it reads none.
  var behind: UInt64? {
    channel == nil ? nil : roster.record.map { hearing.behind($0) }
  }
}

extension FleetLink: FleetEngineReceiver {
  func engineGained(_ server: FleetServer) {
    roster.engineGained()
    lives.engineGained()
    box.engineGained()
    if channel != nil { readOn() }
    tellWay()
  }

  func engineLost(_ failure: UpstreamFailure) {
    roster.engineLost()
    hearing.engineLost()
    lives.engineLost()
    speech.pause()
    channel?.lostEngine(failure)
  }

  func engineMissed() { channel?.missesEngine() }

  func engineRead(_ records: [FleetRecord], of key: FleetKey) {
    for record in records {
      guard let channel else { return }
      switch key.part {
      case .events: take(record, channel)
      case .replies:
        guard hearing.take(reply: record.position) else { continue }
        if let reply = speech.reply(in: record) { channel.take(reply) }
        if hearing.mayTrimReplies { engine.trim(key, before: hearing.readReplies) }
      case .lease, .up, .hosts, .box, .adopted: continue
      }
    }
  }

  func engineRefused(_ failure: UpstreamFailure, of place: FleetPlace) {
    if place == self.place { channel?.refused(explained(failure)) }
  }

  func engineRefusedReading(of key: FleetKey) {
    guard key.part == .events, let channel else { return }
    speech.pause()
    channel.cannotRead(trouble ?? .fleetNotReached)
  }

  /// Why nothing is heard of the fleet; nil where that is not known.
  var trouble: UpstreamFailure? { engine.failure ?? engine.refusal(of: place).map(explained) }

  /// The host with the link is silent.
  var silence: UpstreamFailure? {
    guard roster.isTermOver, let host = roster.record?.own?.host else { return nil }
    return UpstreamFailure(
      .fleet, "the fleet's link was \(host)'s, of which nothing was heard for longer than it would keep it")
  }

  func engineReachedEnd(of key: FleetKey) {
    if key.part == .events { channel?.reachedEnd() }
  }

  private func take(_ record: FleetRecord, _ channel: FleetChannel) {
    while let heard = hearing.next(in: record, isInConversation: channel.isInConversation) {
      switch heard {
      case .nextConversation: return channel.end(UpstreamFailure(.fleet, "the link of the fleet was opened anew"))
      case .marker(let marker):
        let isNews = channel.state != .reaching
        if case .open = marker.kind { noteOpening() }
        channel.take(marker)
        if case .down = marker.kind, isNews { onDown() }
      case .event(let entry): channel.take(entry, at: record.position, epoch: hearing.epoch)
      }
    }
  }
}
