/// The lives of this host in the fleet: each begins with a step that gives it a number, and ends when this host needs another
/// one, or when another host has taken it for dead, which it hears with its next word. What is said in a life that has ended
/// counts for nothing.
struct FleetPresence: Equatable, Sendable {
  enum State: Equatable, Sendable {
    /// It has no life, or none that it knows of. May become `joining`.
    case absent
    /// The engine was asked for one. May become `alive`, `absent`.
    case joining
    /// It has this life, and says so now and then. May become `absent`.
    case alive(life: UInt64, isAsking: Bool)
  }

  enum Event: Equatable, Sendable {
    case gained
    case lost
    case joined(FleetJoined)
    case joinFailed
    /// The engine has heard that this host lives.
    case heard
    case aliveFailed
    /// What this host said counts for nothing any more: its life is over.
    case fenced
    /// Another life is needed, though this one is not over.
    case renew
    /// The time of the last `wake` has come, or what the host says of itself has changed.
    case rang
  }

  enum Action: Equatable, Sendable {
    /// Ask for a life behind that one.
    case join(behind: UInt64)
    case say(life: UInt64)
    /// A life has begun; these are the names of what is in the host's box.
    case begin(life: UInt64, names: FleetNames)
    /// The life is over: so is the conversation, and what was in the host's box is the fleet's.
    case end
    case wake(MonotonicInstant)
  }

  /// How often a host says that it lives: three times before others may take it for dead.
  let interval: Duration
  private(set) var state = State.absent
  /// The last life that it had.
  private(set) var last: UInt64
  private var isReached = false

  /// `adopt` is how long a host may be silent; the first life has a number behind `last`.
  init(adopt: Duration, last: UInt64 = 0) {
    interval = adopt / 3
    self.last = last
  }

  /// The present life; nil without one.
  var life: UInt64? { if case .alive(let life, _) = state { life } else { nil } }

  mutating func handle(_ event: Event, at now: MonotonicInstant) -> [Action] {
    switch event {
    case .gained:
      isReached = true
      return say(now)
    case .lost:
      isReached = false
      if case .joining = state { state = .absent }
      if case .alive(let life, _) = state { state = .alive(life: life, isAsking: false) }
      return []
    case .joined(let joined):
      guard case .joining = state else { return [] }
      last = joined.life
      state = .alive(life: joined.life, isAsking: false)
      return [.begin(life: joined.life, names: joined.names), .wake(now + interval)]
    case .joinFailed:
      guard case .joining = state else { return [] }
      state = .absent
      return [.wake(now + interval / 4)]
    case .heard, .aliveFailed:
      guard case .alive(let life, isAsking: true) = state else { return [] }
      state = .alive(life: life, isAsking: false)
      return [.wake(now + (event == .heard ? interval : interval / 4))]
    case .fenced:
      guard case .alive = state else { return [] }
      state = .absent
      return [.end] + say(now)
    case .renew:
      guard case .alive = state else { return [] }
      state = .absent
      return say(now)
    case .rang: return say(now)
    }
  }

  private mutating func say(_ now: MonotonicInstant) -> [Action] {
    guard isReached else { return [] }
    switch state {
    case .absent:
      state = .joining
      return [.join(behind: last)]
    case .joining, .alive(_, isAsking: true): return []
    case .alive(let life, isAsking: false):
      state = .alive(life: life, isAsking: true)
      return [.say(life: life)]
    }
  }
}
