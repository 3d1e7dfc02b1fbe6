/// The lives of a host among those of an upstream's fleet: asks for each, says that it lives, and hears when one is over. With
/// both goes what the host says of itself.
final class FleetLives {
  private let place: FleetPlace
  private var host: String
  private let box: FleetBox
  private let engine: any FleetEngine
  private let timers: Timers
  /// How long a host may be silent.
  private let adopt: Duration
  private var presence: FleetPresence
  private var timer: Timers.ID?
  /// What the host says of itself.
  var details: FleetHostDetails {
    didSet { if details != oldValue { tell(.rang) } }
  }
  /// Whether the host may hold, as far as its configuration and people say.
  var mayHold: Bool {
    didSet { details.mayHold = mayHold && !isForbidden }
  }
  /// The engine has refused it the lease.
  private var isForbidden = false
  private var forbiddenTimer: Timers.ID?
  private var reluctanceTimer: Timers.ID?
  /// What the engine was told last of that, or was to be told in vain.
  private var said: FleetHostDetails?
  /// The present server has heard that this host lives, and so have as many copies as are wanted. Without these it may be one
  /// that was replaced, or is about to be left.
  private(set) var isHeard = false
  /// Why it may not join; nil where it may, or has not asked.
  private(set) var refusal: FleetRefusal?

  /// One is over: the fleet took this host for dead.
  var onEnd: () -> Void = {}
  /// The present server has heard it, for the first time.
  var onHeard: () -> Void = {}
  /// It may join, or may not.
  var onRefusal: () -> Void = {}
  /// Another daemon has this host's name, and has joined later.
  var onNamesake: () -> Void = {}

  /// - Parameter last: the first one has a number behind it.
  init(
    _ settings: FleetSettings, _ box: FleetBox, engine: any FleetEngine, timers: Timers, last: UInt64,
    details: FleetHostDetails
  ) {
    (place, host, adopt) = (settings.place, settings.host, settings.adopt)
    self.box = box
    self.engine = engine
    self.timers = timers
    self.details = details
    mayHold = details.mayHold
    presence = FleetPresence(adopt: settings.adopt, last: last)
    box.onFenced = { [weak self] in self?.fenced(in: $0) }
  }

  /// Nil without one.
  var present: UInt64? { presence.life }

  func engineGained() { tell(.gained) }
  func engineLost() {
    isHeard = false
    tell(.lost)
  }

  /// Asks for another one; until it has begun nothing can be said.
  func renew() {
    box.lifeEnded()
    tell(.renew)
  }

  /// The host has another name from now on: what was refused to it under the old one counts no more.
  func rename(_ host: String) {
    self.host = host
    presence = FleetPresence(adopt: adopt, last: presence.last)
    if engine.server != nil { tell(.gained) }
    if refusal != nil { note(nil) }
  }

  /// The host has given the lease away because it does not reach the server: for so long others need not give it back.
  func beReluctant(for duration: Duration) {
    details.isReluctant = true
    timers.cancel(reluctanceTimer)
    reluctanceTimer = timers.after(duration) { [weak self] in self?.details.isReluctant = false }
  }

  /// The engine has refused the lease to the host's user: for so long others need not give it back, or order it so.
  func beForbidden(for duration: Duration) {
    noteForbidden(true)
    timers.cancel(forbiddenTimer)
    forbiddenTimer = timers.after(duration) { [weak self] in self?.noteForbidden(false) }
  }

  private func noteForbidden(_ isForbidden: Bool) {
    self.isForbidden = isForbidden
    if !details.isStopped { details.mayHold = mayHold && !isForbidden }
  }

  /// Says now that this host lives.
  func say() { tell(.rang) }

  /// Says that this host stops, or shares the upstream no longer: it is not to be taken for alive until `adopt` is over.
  func stop() {
    var last = details
    (last.isStopped, last.mayHold) = (true, false)
    details = last
  }

  /// Whether that is still to be said.
  var isStopping: Bool { details.isStopped && said?.isStopped != true && presence.state != .absent }

  /// Says whether the server is the one that counts: as many copies as are wanted have what this host, which has a life,
  /// writes now. What it refuses it refuses as that one does.
  func proveServer(_ done: @escaping (Bool) -> Void) {
    guard let present else { return done(false) }
    engine.run(FleetAlive(place: place, host: host, life: present, details: details)) { [weak self] outcome in
      switch outcome {
      case .done, .refused:
        self?.noteHeard()
        done(true)
      case .fenced:
        self?.fenced(in: present)
        done(false)
      case .unanswered, .uncopied: done(false)
      }
    }
  }

  private func tell(_ event: FleetPresence.Event) {
    for action in presence.handle(event, at: timers.now) { act(action) }
  }

  private func act(_ action: FleetPresence.Action) {
    switch action {
    case .join(let last): join(behind: last)
    case .say(let life): say(life)
    case .begin(let life, let names): box.begin(life, names)
    case .end:
      box.lifeEnded()
      onEnd()
    case .wake(let due):
      timers.cancel(timer)
      timer = timers.at(due) { [weak self] in self?.tell(.rang) }
    }
  }

  private func join(behind last: UInt64) {
    engine.run(FleetJoin(place: place, host: host, life: last, details: details)) {
      [weak self, host, details] outcome in
      // It may have another name by now.
      guard let self, host == self.host else { return }
      defer { noteSaid(details) }
      switch outcome {
      case .done(let joined):
        isHeard = true
        tell(.joined(joined))
        note(nil)
      case .refused(let refusal):
        tell(.joinFailed)
        note(refusal)
      case .fenced, .unanswered, .uncopied: tell(.joinFailed)
      }
    }
  }

  private func note(_ refusal: FleetRefusal?) {
    self.refusal = refusal
    onRefusal()
  }

  private func say(_ life: UInt64) {
    engine.run(FleetAlive(place: place, host: host, life: life, details: details)) { [weak self, details] outcome in
      defer { self?.noteSaid(details) }
      switch outcome {
      case .done:
        self?.tell(.heard)
        self?.box.look()
        self?.noteHeard()
      case .fenced: self?.fenced(in: life)
      case .refused:
        self?.tell(.aliveFailed)
        self?.noteHeard()
      case .unanswered, .uncopied:
        self?.tell(.aliveFailed)
        self?.saySoon()
      }
    }
  }

  /// Nothing is said to a server before it has heard that: copies may only be late.
  private func saySoon() {
    guard !isHeard, engine.server != nil else { return }
    timers.after(FleetRefusal.pause) { [weak self] in
      if let self, !isHeard { tell(.rang) }
    }
  }

  private func noteHeard() {
    guard !isHeard else { return }
    isHeard = true
    onHeard()
  }

  /// What the host says of itself may be another since it was asked to be told.
  private func noteSaid(_ details: FleetHostDetails) {
    said = details
    if details != self.details { tell(.rang) }
  }

  /// A step of that life was fenced: this host was taken for dead, or another daemon has its name. Its row says which.
  private func fenced(in life: UInt64) {
    if life == present { lookAtOwnRow(isFenced: true) }
  }

  /// Looks whether another daemon has this host's name.
  func lookAtOwnRow(isFenced: Bool = false) {
    // Behind its end the row is that of the next process, or of this one once it shares the upstream again.
    guard let life = present, !details.isStopped else { return }
    engine.rows(of: place.key(.hosts), [host]) { [weak self, host] outcome in
      guard let self, life == present, host == self.host else { return }
      switch outcome {
      case .done(let rows):
        let row = rows[host].flatMap { FleetHostRow($0) }
        if let row, row.life > life, !row.details.instance.isEmpty, row.details.instance != details.instance {
          onNamesake()
        } else if isFenced {
          tell(.fenced)
        }
      // The next sign of life is fenced as well.
      case .refused: if isFenced { tell(.aliveFailed) }
      case .fenced, .unanswered, .uncopied: break
      }
    }
  }
}
