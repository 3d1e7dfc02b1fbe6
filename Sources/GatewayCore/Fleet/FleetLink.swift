/// This host's share in one upstream of a fleet, from start to stop: its life, how far it has read, and what it has said
/// in the present conversation. Channels come and go above it, the engine below it.
final class FleetLink {
  private(set) var settings: FleetSettings
  let engine: any FleetEngine
  let timers: Timers
  private var presence: FleetPresence
  private var presenceTimer: Timers.ID?
  private weak var channel: FleetChannel?
  /// How far it has read.
  private(set) var hearing = FleetHearing()
  let speech: FleetSpeech
  /// What this host says of itself.
  var details: FleetHostDetails {
    didSet { if details != oldValue { act(presence.handle(.rang, at: timers.now)) } }
  }
  /// The durable sends of this host.
  let box: FleetBox
  /// What it knows of the others.
  let roster: FleetRoster
  /// Why it can take no part: it has other settings than the fleet, or may not do what every host has to.
  private(set) var objection: UpstreamFailure?
  /// It may not join.
  private var joinRefusal: FleetRefusal?
  private var reluctanceTimer: Timers.ID?
  /// Told once, when an attempt that has failed may go well now.
  var onWay: () -> Void = {}
  /// Another daemon has this host's name, and has joined later.
  var onNamesake: () -> Void = {}
  /// The link to the server was closed, by whatever host had it.
  var onDown: () -> Void = {}
  /// Another host than before has it, or none.
  var onHolder: () -> Void = {}
  /// The one that was seen last.
  private var holder: String?

  /// Its lives have numbers behind `life`, by the clock: a failover may undo the last ones of an earlier process, whose
  /// numbers the holder knows.
  init(
    _ settings: FleetSettings, engine: any FleetEngine, timers: Timers, life: UInt64 = 0,
    details: FleetHostDetails = FleetHostDetails()
  ) {
    self.settings = settings
    self.engine = engine
    self.timers = timers
    self.details = details
    presence = FleetPresence(adopt: settings.adopt, last: life)
    speech = FleetSpeech(settings.place, engine: engine, timers: timers)
    box = FleetBox(settings.place, host: settings.host, engine: engine, timers: timers)
    roster = FleetRoster(settings, engine: engine, timers: timers)
    roster.onLook = { [weak self] in
      self?.lookedAtLease()
      self?.lookAtOwnRow()
      self?.noteHolder()
    }
    box.onSettled = { [weak self] in self?.channel?.lifeBegan() }
    box.onFenced = { [weak self] in self?.lifeEnded($0) }
    engine.add(self)
  }

  var place: FleetPlace { settings.place }
  var host: String { settings.host }
  /// The present life; nil without one.
  var life: UInt64? { presence.life }
  /// The life in which something may be said: where each durable send is, is known.
  var speakingLife: UInt64? { box.isSettled && roster.record != nil ? presence.life : nil }
  /// How it could take part in the present conversation; nil where there is none, or nothing may be said.
  var part: FleetSpeech.Part? {
    guard let conversation = hearing.present, let life = speakingLife else { return nil }
    return FleetSpeech.Part(host: host, life: life, conversation: conversation, epoch: hearing.epoch)
  }

  // MARK: - Channels

  /// One attempt to take part in a conversation. An earlier channel has ended.
  func dial(owner: any UpstreamChannelOwner) -> FleetChannel {
    let channel = FleetChannel(self, owner: owner)
    self.channel = channel
    channel.begin()
    if objection != nil { timers.after(.zero) { [weak self] in self?.object() } }
    if engine.server != nil { readOn() }
    return channel
  }

  /// Reads the events up to now, and is told when that is done; not reached, with all else as soon as it is.
  func readToPresent() {
    if engine.server != nil { readEvents() }
  }

  /// Says whether the server is the one that counts: as many copies as are wanted have what this host, which has a life,
  /// writes now. What it refuses it refuses as that one does.
  func proveServer(_ done: @escaping (Bool) -> Void) {
    guard let life else { return done(false) }
    engine.run(FleetAlive(place: place, host: host, life: life, details: details)) { [weak self] outcome in
      switch outcome {
      case .done, .refused: done(true)
      case .fenced:
        self?.lifeEnded(life)
        done(false)
      case .unanswered, .uncopied: done(false)
      }
    }
  }

  /// The channel has ended: nothing is read until the next one.
  func ended(_ channel: FleetChannel) {
    guard channel === self.channel else { return }
    self.channel = nil
    speech.pause()
    for key in [place.key(.replies(host: host)), place.key(.events)] { engine.readNoMore(key, for: self) }
  }

  /// First the replies: what was answered in a conversation is heard before its end.
  private func readOn() {
    readReplies()
    readEvents()
  }

  private func readReplies() {
    engine.readOn(place.key(.replies(host: host)), after: hearing.readReplies, for: self)
  }

  private func readEvents() {
    guard let run = engine.server?.run else { return }
    guard !hearing.goesOn else { return engine.readOn(place.key(.events), after: hearing.read, for: self) }
    // A server that was master once more than one was has had markers that no other has, nor that one itself once it has
    // followed another.
    engine.newest(of: place.key(.events)) { [weak self] outcome in
      guard let self, channel != nil, engine.server?.run == run else { return }
      var newest: FleetRecord?
      switch outcome {
      case .done(let record): newest = record
      case .refused: break
      case .fenced, .unanswered, .uncopied: return
      }
      if hearing.goOn(to: newest) { readReplies() }
      engine.readOn(place.key(.events), after: hearing.read, for: self)
    }
  }

  // MARK: - The life

  /// Asks for another life; until it has begun nothing can be said.
  func renewLife() {
    box.lifeEnded()
    tell(.renew)
  }

  private func act(_ actions: [FleetPresence.Action]) {
    for action in actions { act(action) }
  }

  private func act(_ action: FleetPresence.Action) {
    switch action {
    case .join(let last):
      engine.run(FleetJoin(place: place, host: host, life: last, details: details)) { [weak self] outcome in
        guard let self else { return }
        switch outcome {
        case .done(let joined):
          tell(.joined(joined))
          refused(nil)
        case .refused(let refusal):
          tell(.joinFailed)
          refused(refusal)
        case .fenced, .unanswered, .uncopied: tell(.joinFailed)
        }
      }
    case .say(let life):
      engine.run(FleetAlive(place: place, host: host, life: life, details: details)) { [weak self] outcome in
        switch outcome {
        case .done:
          self?.tell(.heard)
          self?.box.look()
        case .fenced: self?.lifeEnded(life)
        case .refused, .unanswered, .uncopied: self?.tell(.aliveFailed)
        }
      }
    case .begin(let life, let names): box.begin(life, names)
    case .end:
      box.lifeEnded()
      channel?.end(UpstreamFailure(.fleet, "the fleet took this host for dead"))
    case .wake(let due):
      timers.cancel(presenceTimer)
      presenceTimer = timers.at(due) { [weak self] in self?.tell(.rang) }
    }
  }

  private func tell(_ event: FleetPresence.Event) { act(presence.handle(event, at: timers.now)) }

  /// A step of that life was fenced: this host was taken for dead, or another daemon has its name.
  func lifeEnded(_ life: UInt64) {
    if life == self.life { lookAtOwnRow(isFenced: true) }
  }

  private func lookAtOwnRow(isFenced: Bool = false) {
    guard let life else { return }
    engine.rows(of: place.key(.hosts), [host]) { [weak self, host] outcome in
      guard let self, life == self.life, host == self.host, case .done(let rows) = outcome else { return }
      let row = rows[host].flatMap { FleetHostRow($0) }
      if let row, row.life > life, !row.details.instance.isEmpty, row.details.instance != details.instance {
        onNamesake()
      } else if isFenced {
        tell(.fenced)
      }
    }
  }

  // MARK: - Among the others

  /// This host has given the lease away because it does not reach the server: for so long others need not give it back.
  func beReluctant(for duration: Duration) {
    details.isReluctant = true
    timers.cancel(reluctanceTimer)
    reluctanceTimer = timers.after(duration) { [weak self] in self?.details.isReluctant = false }
  }

  /// This host has another name from now on, because another daemon has the old one.
  func rename(_ host: String) {
    channel?.end(UpstreamFailure(.fleet, "another daemon of the fleet is called \(settings.host) as well"))
    settings.host = host
    box.rename(host)
    hearing.forgetReplies()
    speech.forget()
    presence = FleetPresence(adopt: settings.adopt, last: presence.last)
    if engine.server != nil { tell(.gained) }
  }

  /// What this host has to have like the others is another now.
  func adopt(_ agreement: FleetAgreement) {
    guard agreement != settings.agreement else { return }
    settings.agreement = agreement
    details.agreement = agreement
    lookedAtLease()
  }

  /// The fleet may have agreed upon something else, or the engine have refused what every host has to do.
  private func lookedAtLease() {
    let refused = refusal.map {
      UpstreamFailure(.fleet, $0.sentence(of: engine.server?.address ?? "the fleet's server"))
    }
    let before = objection
    objection = refused ?? roster.record.flatMap { settings.objection(to: $0) }
    if objection != nil { return object() }
    channel?.lifeBegan()
    if before != nil { tellWay() }
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

  /// It may not join, or may again.
  private func refused(_ refusal: FleetRefusal?) {
    joinRefusal = refusal
    lookedAtLease()
  }

  /// What the engine refuses that every host has to do; nil where it refuses nothing.
  var refusal: FleetRefusal? { joinRefusal ?? roster.refusal }

  /// What it has said and the holder has not confirmed.
  var unconfirmed: Int { channel?.isInConversation == true ? speech.flights.count : 0 }

  /// Events that this host has not read, as far as the lease tells; nil while it reads none.
  var behind: UInt64? {
    channel == nil ? nil : roster.record.map { hearing.behind($0) }
  }
}

extension FleetLink: FleetEngineReceiver {
  func engineGained(_ server: FleetServer) {
    roster.engineGained()
    tell(.gained)
    box.engineGained()
    if channel != nil { readOn() }
    tellWay()
  }

  func engineLost(_ failure: UpstreamFailure) {
    roster.engineLost()
    hearing.engineLost()
    tell(.lost)
    speech.pause()
    channel?.lostEngine(failure)
  }

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
    if place == self.place { channel?.refused(failure) }
  }

  /// Why nothing is heard of the fleet; nil where that is not known.
  var trouble: UpstreamFailure? { engine.failure ?? engine.refusal(of: place) }

  func engineReachedEnd(of key: FleetKey) {
    if key.part == .events { channel?.reachedEnd() }
  }

  private func take(_ record: FleetRecord, _ channel: FleetChannel) {
    while let heard = hearing.next(in: record, isInConversation: channel.isInConversation) {
      switch heard {
      case .nextConversation: return channel.end(UpstreamFailure(.fleet, "the link of the fleet was opened anew"))
      case .marker(let marker):
        let isNews = channel.state != .reaching
        channel.take(marker)
        if case .down = marker.kind, isNews { onDown() }
      case .event(let entry): channel.take(entry, at: record.position, epoch: hearing.epoch)
      }
    }
  }
}
