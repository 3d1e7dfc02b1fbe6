/// What is kept in a `FleetReplayLog`.
protocol FleetReplayable {
  /// What it counts while it is kept.
  var byteCount: Int { get }
}

extension FleetReplayable {
  /// What it counts while it waits for the engine, which has more of it there than its values.
  var waitingByteCount: Int { byteCount + waitingOverhead }
}

private let waitingOverhead = 256

/// What was said to an engine, in its order, to be said again: one portion in each turn, before anything new.
///
/// An engine that is reached again is told what it may have lost. One that has refused something, such as without room, is
/// asked with the first of that alone, now and then, and told the rest once it has taken it: all of it each time would be more
/// and more that it refuses. The owner says when each of that is.
final class FleetReplayLog<Entry: FleetReplayable> {
  /// Whether what is new is said at once, or waits until the engine has what was said before.
  enum State: Equatable, Sendable {
    /// It is said at once. May become `lost`, `refused` or, where some of what was said is to be said again, `replaying`.
    case open
    /// The engine is not reached, or was not told yet what it may have lost. May become `replaying`, `refused`.
    case lost
    /// It is told what it may have lost, and behind that what is new meanwhile. May become `open`, `lost`, `refused`.
    case replaying
    /// The engine has refused something. May become `lost` or `replaying`.
    case refused
  }

  /// Says an entry of a log to the engine; what that answers later is told to the log by `answered`.
  typealias Write = (_ log: FleetReplayLog, Entry, _ isProbe: Bool) -> Void

  private(set) var state: State
  /// The oldest first. Beyond the limit they are forgotten.
  private(set) var entries: SizedRing<Entry>
  /// What those count that were said and have no outcome.
  private var unansweredBytes = 0
  /// What those count that were new while the engine was lost, or was told again what it had lost.
  private var waitingBytes = 0
  private let limit: (count: Int, bytes: Int)
  private let timers: Timers
  private let write: Write
  /// Who waits for what becomes of a probe.
  private var onProbed: ((_ isTaken: Bool) -> Void)?
  /// Tells a replay from those before it, which are over.
  private var replays = 0

  /// Whether nothing is said of what an entry is about, while the others are.
  var isHeld: (Entry) -> Bool = { _ in false }
  /// What became of an entry.
  var onOutcome: (Entry, FleetOutcome<Void>) -> Void = { _, _ in }
  /// There was no room for an entry any more, nor for those before it.
  var onOverflow: (Entry) -> Void = { _ in }

  /// Without a limit it forgets nothing by itself.
  init(
    _ state: State, limit: (count: Int, bytes: Int) = (.max, .max), timers: Timers, write: @escaping Write
  ) {
    self.state = state
    self.limit = limit
    self.timers = timers
    self.write = write
    entries = SizedRing(limit: limit)
  }

  /// What those count that the engine has not taken. What it has refused, and what is new until it takes a probe, counts
  /// nothing.
  var unsentBytes: Int { unansweredBytes + waitingBytes }

  /// Whether what is new waits for a replay.
  var awaitsReplay: Bool {
    switch state {
    case .lost, .replaying: true
    case .open, .refused: false
    }
  }

  deinit { letGo() }

  // MARK: - What is kept

  /// Keeps an entry, and says it at once if the log is open.
  func append(_ entry: Entry) {
    keep(entry)
    if state == .open { sayUnlessHeld(entry) }
  }

  /// Keeps an entry that a replay will say.
  func keep(_ entry: Entry) {
    if awaitsReplay { waitingBytes += entry.waitingByteCount }
    var gone: Entry?
    entries.append(entry, bytes: entry.byteCount) { gone = $0 }
    if let gone { onOverflow(gone) }
  }

  /// Forgets the oldest for as long as they are confirmed.
  func forget(while isConfirmed: (Entry) -> Bool) {
    while entries.look(0, isConfirmed) == true { entries.popFirst() }
  }

  /// Begins anew, with nothing; places count from 0 again.
  func reset(to state: State) {
    self.state = state
    letGo()
    waitingBytes = 0
    replays += 1
  }

  /// Nobody wants any more what is kept: that goes a portion in each turn.
  private func letGo() {
    var rest = SizedRing<Entry>(limit: limit)
    swap(&rest, &entries)
    guard rest.count > 0 else { return }
    timers.goOn {
      for _ in 0..<FleetTurn.limit.count { rest.popFirst() }
      return rest.count > 0
    }
  }

  // MARK: - What the engine may not have

  /// What is new is kept until a replay.
  func lose() { state = .lost }

  /// The same until the engine has taken a probe.
  func refuse() { (state, waitingBytes) = (.refused, 0) }

  /// Says what is kept from a place on, and then, behind what was new meanwhile, is open. A replay before it is over.
  func replay(from place: Int = 0, then opened: @escaping () -> Void) {
    state = .replaying
    replays += 1
    let isPresent = { [weak self, replays] in self?.state == .replaying && self?.replays == replays }
    visit(from: place, while: isPresent, { [weak self] in self?.sayUnlessHeld($0) }) { [weak self] in
      guard let self else { return }
      (state, waitingBytes) = (.open, 0)
      opened()
    }
  }

  /// Asks with one entry alone whether the engine takes again what it has refused. Answers nothing where that is known by
  /// other means, such as the loss of the engine.
  func probe(_ entry: Entry, _ answer: @escaping (_ isTaken: Bool) -> Void) {
    onProbed = answer
    write(self, entry, true)
  }

  /// What became of an entry that was said to the engine.
  func answered(_ entry: Entry, _ outcome: FleetOutcome<Void>, isProbe: Bool) {
    guard isProbe else {
      unansweredBytes -= entry.waitingByteCount
      return onOutcome(entry, outcome)
    }
    guard state == .refused, let onProbed else { return }
    switch outcome {
    case .done, .fenced: onProbed(true)
    case .refused: onProbed(false)
    case .unanswered, .uncopied: break
    }
  }

  /// Shows what is kept from a place on, one portion in a turn for as long as it goes on, also what is new meanwhile.
  func visit(
    from place: Int = 0, while goesOn: @escaping () -> Bool, _ see: @escaping (Entry) -> Void,
    then done: @escaping () -> Void
  ) {
    guard goesOn() else { return }
    var turn = FleetTurn()
    let all = entries
    guard let next = all.look(from: place, while: { turn.takes($0) }, see) else { return done() }
    timers.after(.zero) { [weak self] in self?.visit(from: next, while: goesOn, see, then: done) }
  }

  private func sayUnlessHeld(_ entry: Entry) {
    if !isHeld(entry) { say(entry) }
  }

  /// Says one, whatever the state.
  func say(_ entry: Entry) {
    unansweredBytes += entry.waitingByteCount
    write(self, entry, false)
  }
}
