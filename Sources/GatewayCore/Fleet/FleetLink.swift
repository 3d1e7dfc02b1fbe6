/// This host's share in one upstream of a fleet, from start to stop: its life, how far it has read, and what it has said
/// in the present conversation. Channels come and go above it, the engine below it.
final class FleetLink {
  private(set) var settings: FleetSettings
  /// Where all hosts say what they want to have said.
  private let up: FleetKey
  let engine: any FleetEngine
  let timers: Timers
  private var presence: FleetPresence
  private var presenceTimer: Timers.ID?
  private weak var channel: FleetChannel?
  /// How far the events and the replies were told, or passed over.
  private(set) var read = FleetPosition.start
  private var readReplies = FleetPosition.start
  /// It is known that the present server goes on from where events were read last.
  private var goesOn = true
  /// Up to which number the present epoch was told: its events may be read again.
  private(set) var told: UInt64 = 0
  /// The same of the epochs before it.
  private var toldBefore: [(epoch: String, number: UInt64)] = []
  private static let epochLimit = 16
  private var repliesRead = 0
  /// Replies between two that the engine forgets.
  private static let trimStep = 256
  /// The conversation that is open there, whether this host takes part in it or not.
  private(set) var present: UInt64?
  /// The epoch of what is read; nil before the first marker.
  private(set) var epoch: String?
  private(set) var tops = FleetTops()
  /// The number of the last event of what is read.
  private(set) var sequence: UInt64 = 0
  /// What was said in the conversation of this number, in one life.
  private(set) var flights = FleetFlights()
  private(set) var conversation: UInt64 = 0
  private var spokenLife: UInt64 = 0
  private var spokenEpoch: String?
  /// The engine has refused something of it.
  private var isRefused = false
  private var refusedTimer: Timers.ID?
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
    up = settings.place.key(.up)
    self.engine = engine
    self.timers = timers
    self.details = details
    presence = FleetPresence(adopt: settings.adopt, last: life)
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
    for key in [place.key(.replies(host: host)), place.key(.events)] { engine.readNoMore(key, for: self) }
  }

  /// First the replies: what was answered in a conversation is heard before its end.
  private func readOn() {
    engine.readOn(place.key(.replies(host: host)), after: readReplies, for: self)
    readEvents()
  }

  private func readEvents() {
    guard let run = engine.server?.run else { return }
    guard !goesOn else { return engine.readOn(place.key(.events), after: read, for: self) }
    // A server that was master once more than one was has had markers that no other has, nor that one itself once it has
    // followed another.
    engine.newest(of: place.key(.events)) { [weak self] outcome in
      guard let self, channel != nil, engine.server?.run == run else { return }
      switch outcome {
      case .done(let newest?):
        if newest.position.conversation < read.conversation || isOfAnotherConversation(newest) {
          goBack(to: newest.position)
        }
      case .done(nil), .refused: break
      case .fenced, .unanswered, .uncopied: return
      }
      goesOn = true
      engine.readOn(place.key(.events), after: read, for: self)
    }
  }

  /// Two servers may have given the same number, while one of them did not know that it was replaced.
  private func isOfAnotherConversation(_ record: FleetRecord) -> Bool {
    guard record.position.conversation == read.conversation, let entry = FleetEntry(record.fields) else { return false }
    let other = if case .marker(let marker) = entry { marker.epoch } else { entry.head?.epoch }
    return other.map { $0 != epoch } ?? false
  }

  /// To the beginning of a conversation: its opening is read again, and what was told of it is not told again. The replies
  /// are read from there on as well.
  private func goBack(to position: FleetPosition) {
    readReplies = min(readReplies, FleetPosition(position.conversation - min(1, position.conversation), .max))
    engine.readOn(place.key(.replies(host: host)), after: readReplies, for: self)
    read = FleetPosition(position.conversation - min(1, position.conversation), .max)
    present = nil
  }

  // MARK: - Saying

  /// Whether the present life can take part in a conversation. Numbers begin anew with each channel, and those of one life in
  /// one conversation name one call each: not where an earlier channel has said something in it, and not in one that this
  /// host has left for another, which a failover has undone.
  func canTakePart(in conversation: UInt64, _ life: UInt64) -> Bool {
    guard life == spokenLife, conversation <= self.conversation else { return true }
    return conversation == self.conversation && epoch == spokenEpoch && flights.last == 0
  }

  /// Whether the present conversation has the epoch of the last one that this host took part in.
  var goesOnInItsEpoch: Bool { spokenEpoch != nil && spokenEpoch == epoch }

  /// Asks for another life; until it has begun nothing can be said.
  func renewLife() {
    box.lifeEnded()
    tell(.renew)
  }

  /// A conversation that this host takes part in, by a new channel.
  func takePart(in conversation: UInt64, _ life: UInt64) {
    (self.conversation, spokenLife, spokenEpoch) = (conversation, life, epoch)
    (flights, isRefused) = (FleetFlights(), false)
  }

  /// Says something in the present conversation; `now: false` keeps it for `sayAgain`.
  func say(_ call: FleetUpEntry.Call, now: Bool) {
    let entry = flights.add(call, host: host, life: spokenLife, conversation: conversation)
    if now, !isRefused { append(entry) }
  }

  /// Everything that is not confirmed, before anything new.
  func sayAgain() {
    isRefused = false
    for entry in flights.entries { append(entry) }
  }

  private func append(_ entry: FleetUpEntry) {
    engine.append(entry.fields, to: up, at: nil) { [weak self] outcome in
      if case .refused = outcome { self?.noteRefusal() }
    }
  }

  /// There is no room, or it may not be said. The holder waits for what was refused before it takes anything behind it: the
  /// engine is asked for the first now and then, and for the rest once it has taken that.
  private func noteRefusal() {
    guard !isRefused else { return }
    isRefused = true
    probeLater()
  }

  private func probeLater() {
    timers.cancel(refusedTimer)
    refusedTimer = timers.after(FleetRefusal.pause) { [weak self] in self?.probe() }
  }

  private func probe() {
    guard isRefused, channel?.isOpen == true else { return }
    guard let first = flights.first else { return isRefused = false }
    engine.append(first.fields, to: up, at: nil) { [weak self] outcome in
      guard let self, isRefused else { return }
      switch outcome {
      case .done, .fenced: sayAgain()
      case .refused: probeLater()
      // Everything is said again on the next connection.
      case .unanswered, .uncopied: break
      }
    }
  }

  /// The holder has written all up to that number.
  func confirm(upTo number: UInt64) { flights.confirm(upTo: number) }

  // MARK: - The life

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
    (readReplies, flights, conversation, spokenEpoch) = (.start, FleetFlights(), 0, nil)
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
  var unconfirmed: Int { channel?.isInConversation == true ? flights.count : 0 }

  /// Events that this host has not read, as far as the lease tells; nil while it reads none.
  var behind: UInt64? {
    guard channel != nil, let record = roster.record else { return nil }
    guard record.sequence > sequence else { return 0 }
    let distance = record.sequence - sequence
    // A holder leaves numbers out only where it begins another epoch, which it says when its link is open.
    return record.isOpen && record.epoch == epoch ? distance : distance % FleetPublisher.skip
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
    goesOn = false
    tell(.lost)
    channel?.lostEngine(failure)
  }

  func engineRead(_ records: [FleetRecord], of key: FleetKey) {
    for record in records {
      guard let channel else { return }
      switch key.part {
      case .events: take(record, channel)
      case .replies:
        guard record.position > readReplies else { continue }
        readReplies = record.position
        // Numbers of an earlier life are of other calls.
        if record.position.conversation == conversation, let reply = FleetReplyEntry(record.fields),
          reply.life.map({ $0 == spokenLife }) ?? true
        {
          channel.take(reply.call)
        }
        repliesRead += 1
        if repliesRead.isMultiple(of: Self.trimStep) { engine.trim(key, before: readReplies) }
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
    guard record.position > read else { return }
    guard let entry = FleetEntry(record.fields), record.position.number > 0 || entry.head == nil else {
      read = record.position
      return
    }
    let position = record.position
    if case .marker(let marker) = entry {
      _ = take(marker, at: position, channel)
    } else {
      if let begun = entry.head?.epoch, position.conversation != present || begun != epoch {
        // The engine has forgotten the opening by now.
        let before = FleetPosition(position.conversation, position.number - 1)
        let opening = FleetMarker(.open(hosts: 1), term: tops.term, epoch: begun, sequence: before.number)
        guard take(opening, at: before, channel) else { return }
      }
      tops.note(position)
      (read, sequence) = (position, position.number)
      guard position.number > told else { return }
      told = position.number
      channel.take(entry, at: position, epoch: epoch)
    }
  }

  /// Another epoch, or the same again. Numbers of one say nothing of another: two masters may have gone on at the same place.
  private func enter(_ epoch: String) {
    guard epoch != self.epoch else { return }
    if let last = self.epoch { toldBefore.append((last, told)) }
    let known = toldBefore.lastIndex { $0.epoch == epoch }
    (self.epoch, told) = (epoch, known.map { toldBefore.remove(at: $0).number } ?? 0)
    if toldBefore.count > Self.epochLimit { toldBefore.removeFirst() }
  }

  /// False for an opening that ends a conversation: it is for the next channel, and so is what stands behind it.
  private func take(_ marker: FleetMarker, at position: FleetPosition, _ channel: FleetChannel) -> Bool {
    if case .open = marker.kind, channel.isInConversation {
      channel.end(UpstreamFailure(.fleet, "the link of the fleet was opened anew"))
      return false
    }
    tops.note(marker, at: position)
    (read, sequence) = (position, marker.sequence)
    present = nil
    if case .open = marker.kind {
      present = position.conversation
      enter(marker.epoch)
    }
    let isNews = channel.state != .reaching
    channel.take(marker)
    if case .down = marker.kind, isNews { onDown() }
    return true
  }
}
