/// Which host holds an upstream, as one host sees it. No clock is shared, and nothing expires in the engine: the holder
/// raises `beat`, and another host may take the lease when it has not seen it change for longer than the holder may rely on
/// it. Every instant is of this host's own clock, which steps do not touch.
struct FleetLease: Equatable, Sendable {
  struct Settings: Equatable, Sendable {
    var host: String
    /// How long the holder may write after the sending of its last confirmed beat.
    var lease: Duration = .seconds(3)
    /// How long a lapsed holder keeps its link.
    var grace: Duration = .seconds(10)
    /// How long hosts that disagree with the fleet leave the lease to others.
    var adopt: Duration = .seconds(30)

    /// How long other hosts wait: clocks differ in rate, and the holder's last beat was on its way.
    var patience: Duration { lease * 11 / 10 }
    var beat: Duration { lease / 3 }
    /// By how much later hosts ask than those that prefer to hold.
    var courtesy: Duration { lease / 3 }
  }

  /// What a holder has.
  struct Hold: Equatable, Sendable {
    var own: FleetOwn
    /// It may write until then.
    var until: MonotonicInstant
    /// When the last beat was sent.
    var sent: MonotonicInstant
    /// A beat is on its way.
    var isAsking: Bool
  }

  enum State: Equatable, Sendable {
    /// Another host has the lease, or no host has. May become `taking`.
    case watching(FleetClaim.Watch)
    /// The engine was asked for it at that moment. May become `holding`, `watching`.
    case taking(asked: MonotonicInstant)
    /// This host has it and may write. May become `lapsed`, `leaving`, `watching`.
    case holding(Hold)
    /// The engine did not confirm the last beat in time: this host writes nothing, but knows of no new holder. May
    /// become `holding`, `leaving`, `watching`. It cuts the link after a while.
    case lapsed(Hold, isCut: Bool)
    /// The link is being closed; then the lease is given back. May become `watching`.
    case leaving(Hold, isDrained: Bool)
  }

  enum Event: Equatable, Sendable {
    /// The engine is reached, at a server of that name.
    case gained(run: String)
    case lost
    /// The lease was looked at. `holder` is nil where there is none, and empty where it was given back; `next` is the host
    /// that is to have it then, empty or `*` where that may be any. `disagrees`: this host has other settings than the
    /// fleet. `isOfServer`: its last beat was at the present server. `fraction` is random, in 0 ..< 1.
    case saw(
      FleetSight, holder: String?, next: String = "", isOfServer: Bool = true, disagrees: Bool = false,
      rank: FleetRank = .first, fraction: Double)
    /// The holder has closed its link: it may give the lease back in the next moment.
    case closed
    /// The engine's answer to `take`; nil: another host was faster.
    case took(FleetTaken?)
    /// The engine refused the taking, or did not answer.
    case takeFailed
    case beaten
    case beatFailed
    /// The holder has something to say with a beat that is not to wait for the next one.
    case news
    /// Another host has taken it, as any step or append may say.
    case fenced
    /// The lease is to be given back, so that another host takes it.
    case leave
    /// The server's machine has all bytes, and the link is closed.
    case drained
    case released
    /// What this host has given back, and left to others, it may take again at once.
    case takeBack
    /// The time of the last `wake` has come.
    case rang
  }

  enum Action: Equatable, Sendable {
    /// Look at the lease.
    case look
    /// Ask for it, as it was seen; `isLate`: even if another host is to have it next.
    case take(FleetSight, isLate: Bool = false)
    case beat
    /// This host holds from now on.
    case begin(FleetTaken)
    /// It may write until then.
    case extend(MonotonicInstant)
    /// It may not write now.
    case lapse
    /// The link is cut at once; this host still holds.
    case cut
    /// This host does not hold any more: the link is cut at once.
    case end
    /// Close the link in order.
    case drain
    case release
    /// The engine has not answered for too long.
    case distrust
    /// Ring then, and at no other time that was asked for.
    case wake(MonotonicInstant)
  }

  /// How long a host that gave the lease back leaves it to others.
  static let reluctance: Duration = .seconds(60)

  let settings: Settings
  /// How it comes to the lease where it does not hold.
  private var claim: FleetClaim
  private(set) var state = State.watching(
    FleetClaim.Watch(seen: nil, since: .init(nanoseconds: 0), due: .init(nanoseconds: 0)))
  /// The engine's server; nil while it is not reached.
  private(set) var run: String?
  /// The server that confirmed last that this host holds.
  private var confirmedRun: String?
  /// Until then another host may write that has taken the lease at a server which the present one replaced.
  private var quietUntil: MonotonicInstant?
  /// It is to be given back as soon as it is taken.
  private var leavesWhenTaken = false

  /// - Parameter wasFenced: another daemon has, or had, the host's name.
  init(_ settings: Settings, wasFenced: Bool = false) {
    self.settings = settings
    claim = FleetClaim(settings, wasFenced: wasFenced)
  }

  /// The term in which this host holds; nil while it does not.
  var own: FleetOwn? { hold?.own }

  var isTaking: Bool { if case .taking = state { true } else { false } }

  /// Until when this host may write; nil while it may not at all.
  var mayWriteUntil: MonotonicInstant? {
    switch state {
    case .watching, .taking, .lapsed: nil
    case .holding(let hold), .leaving(let hold, _): hold.until
    }
  }

  mutating func handle(_ event: Event, at now: MonotonicInstant) -> [Action] {
    switch event {
    case .gained(let run): return gained(run, now)
    case .lost: return lost(now)
    case .saw(let sight, let holder, let next, let isOfServer, let disagrees, let rank, let fraction):
      claim.rank = rank
      return saw(
        FleetClaim.Look(
          sight: sight, holder: isOfServer ? holder : nil, next: next, disagrees: disagrees, fraction: fraction), now)
    case .closed: return closed(now)
    case .took(let taken): return took(taken, now)
    case .takeFailed: return takeFailed(now)
    case .beaten: return beaten(now)
    case .beatFailed: return beatFailed(now)
    case .news: return news(now)
    case .fenced: return fenced(now)
    case .leave: return leave(now)
    case .drained: return drained(now)
    case .released: return released(now)
    case .takeBack: return takeBack()
    case .rang: return rang(now)
    }
  }

  // MARK: - The engine

  private mutating func gained(_ run: String, _ now: MonotonicInstant) -> [Action] {
    self.run = run
    if run != confirmedRun, let hold, hold.until <= now { quietUntil = now + settings.patience }
    switch state {
    case .watching, .taking:
      // What was seen at another server says nothing about this one.
      return watch(now) + [.look, .wake(now + claim.pause)]
    case .holding(let hold):
      guard now < hold.until else { return [.lapse] + ask(hold, now) { .lapsed($0, isCut: false) } }
      return ask(hold, now) { .holding($0) }
    case .lapsed(let hold, let isCut): return ask(hold, now) { .lapsed($0, isCut: isCut) }
    case .leaving(let hold, let isDrained):
      return ask(hold, now) { .leaving($0, isDrained: isDrained) } + (isDrained ? release(now) : [])
    }
  }

  private mutating func lost(_ now: MonotonicInstant) -> [Action] {
    run = nil
    switch state {
    case .watching, .taking: return watch(now)
    case .holding(var hold):
      hold.isAsking = false
      state = .holding(hold)
      return [.wake(hold.until)]
    case .lapsed(var hold, let isCut):
      hold.isAsking = false
      state = .lapsed(hold, isCut: isCut)
      return isCut ? [] : [.wake(hold.until + settings.grace)]
    case .leaving(var hold, let isDrained):
      hold.isAsking = false
      state = .leaving(hold, isDrained: isDrained)
      return []
    }
  }

  private mutating func watch(_ now: MonotonicInstant) -> [Action] {
    leavesWhenTaken = false
    state = .watching(FleetClaim.Watch(seen: nil, since: now, due: now + settings.patience))
    return []
  }

  // MARK: - Watching and taking

  private mutating func closed(_ now: MonotonicInstant) -> [Action] {
    guard case .watching = state, run != nil else { return [] }
    claim.hasten()
    return [.look, .wake(now + claim.interval)]
  }

  private mutating func saw(_ look: FleetClaim.Look, _ now: MonotonicInstant) -> [Action] {
    guard case .watching(var watch) = state, run != nil else { return [] }
    switch claim.judge(look, &watch, at: now) {
    case .wait(let due):
      state = .watching(watch)
      return due.map { [.wake($0)] } ?? []
    case .take(let isLate):
      state = .taking(asked: now)
      return [.take(look.sight, isLate: isLate)]
    }
  }

  private mutating func took(_ taken: FleetTaken?, _ now: MonotonicInstant) -> [Action] {
    guard case .taking(let asked) = state, run != nil else { return [] }
    guard let taken else { return watch(now) + [.wake(now + claim.pause)] }
    (claim.wasFenced, confirmedRun, quietUntil) = (false, run, nil)
    let hold = Hold(
      own: FleetOwn(term: taken.term, host: settings.host), until: asked + settings.lease, sent: asked,
      isAsking: false)
    guard !leavesWhenTaken else {
      leavesWhenTaken = false
      state = .leaving(hold, isDrained: true)
      return [.release]
    }
    claim.reluctantUntil = nil
    state = .holding(hold)
    // An answer that took longer than the lease is worth nothing but the right to ask once more.
    guard now < hold.until else {
      state = .lapsed(hold, isCut: true)
      return [.begin(taken), .lapse] + ask(hold, now) { .lapsed($0, isCut: true) }
    }
    return [.begin(taken), .extend(hold.until), .wake(asked + settings.beat)]
  }

  private mutating func takeFailed(_ now: MonotonicInstant) -> [Action] {
    guard case .taking = state else { return [] }
    return watch(now) + (run == nil ? [] : [.wake(now + claim.pause)])
  }

  // MARK: - Holding

  /// Sends a beat, unless one is on its way or the engine is not reached.
  private mutating func ask(_ hold: Hold, _ now: MonotonicInstant, _ next: (Hold) -> State) -> [Action] {
    guard run != nil, !hold.isAsking else { return [] }
    var hold = hold
    (hold.sent, hold.isAsking) = (now, true)
    state = next(hold)
    return [.beat] + wake(hold)
  }

  private func wake(_ hold: Hold) -> [Action] {
    let answer = hold.sent + (hold.isAsking ? settings.lease : settings.beat)
    if case .lapsed(_, isCut: false) = state { return [.wake(min(answer, hold.until + settings.grace))] }
    if case .holding = state { return [.wake(min(answer, hold.until))] }
    return [.wake(answer)]
  }

  private mutating func beaten(_ now: MonotonicInstant) -> [Action] {
    guard var hold = hold, hold.isAsking else { return [] }
    hold.isAsking = false
    confirmedRun = run
    let isQuiet = isQuiet(now)
    if case .leaving(_, let isDrained) = state {
      if !isQuiet { hold.until = max(hold.until, hold.sent + settings.lease) }
      state = .leaving(hold, isDrained: isDrained)
      return (isQuiet ? [] : [.extend(hold.until)]) + wake(hold)
    }
    hold.until = max(hold.until, hold.sent + settings.lease)
    if isQuiet, case .lapsed(_, let isCut) = state {
      state = .lapsed(hold, isCut: isCut)
      return wake(hold)
    }
    guard now < hold.until else {
      // It was confirmed too late to be of use.
      let wasHolding = if case .holding = state { true } else { false }
      let isCut = if case .lapsed(_, isCut: true) = state { true } else { false }
      state = .lapsed(hold, isCut: isCut)
      return (wasHolding ? [.lapse] : []) + ask(hold, now) { .lapsed($0, isCut: isCut) }
    }
    state = .holding(hold)
    return [.extend(hold.until)] + wake(hold)
  }

  private var hold: Hold? {
    switch state {
    case .watching, .taking: nil
    case .holding(let hold), .lapsed(let hold, _), .leaving(let hold, _): hold
    }
  }

  private mutating func beatFailed(_ now: MonotonicInstant) -> [Action] {
    switch state {
    case .watching, .taking: return []
    case .holding(var hold):
      hold.isAsking = false
      state = .holding(hold)
      return wake(hold)
    case .lapsed(var hold, let isCut):
      hold.isAsking = false
      state = .lapsed(hold, isCut: isCut)
      return wake(hold)
    case .leaving(var hold, let isDrained):
      hold.isAsking = false
      state = .leaving(hold, isDrained: isDrained)
      return wake(hold)
    }
  }

  private mutating func news(_ now: MonotonicInstant) -> [Action] {
    guard case .holding(let hold) = state, now < hold.until else { return [] }
    return ask(hold, now) { .holding($0) }
  }

  private mutating func fenced(_ now: MonotonicInstant) -> [Action] {
    guard hold != nil else { return [] }
    claim.wasFenced = true
    return [.end] + watch(now) + (run == nil ? [] : [.look, .wake(now + claim.pause)])
  }

  // MARK: - Leaving

  private mutating func leave(_ now: MonotonicInstant) -> [Action] {
    claim.reluctantUntil = now + Self.reluctance
    switch state {
    case .watching, .leaving: return []
    case .taking:
      leavesWhenTaken = true
      return []
    case .holding(let hold):
      state = .leaving(hold, isDrained: false)
      return [.drain]
    case .lapsed(var hold, let isCut):
      // It was confirmed as the holder, and may not write for all that.
      if isQuiet(now) { hold.until = min(hold.until, now) }
      state = .leaving(hold, isDrained: isCut)
      return isCut ? release(now) : [.drain]
    }
  }

  private mutating func drained(_ now: MonotonicInstant) -> [Action] {
    guard case .leaving(let hold, isDrained: false) = state else { return [] }
    state = .leaving(hold, isDrained: true)
    return release(now)
  }

  /// Gives the lease back, as soon as no other host may write: whoever takes it writes at once.
  private mutating func release(_ now: MonotonicInstant) -> [Action] {
    guard run != nil else { return [] }
    if let quietUntil, now < quietUntil { return [.wake(quietUntil)] }
    quietUntil = nil
    return [.release]
  }

  private func isQuiet(_ now: MonotonicInstant) -> Bool { quietUntil.map { now < $0 } ?? false }

  private mutating func released(_ now: MonotonicInstant) -> [Action] {
    guard case .leaving(_, isDrained: true) = state else { return [] }
    return [.end] + watch(now) + [.wake(now + claim.pause)]
  }

  private mutating func takeBack() -> [Action] {
    claim.reluctantUntil = nil
    guard case .watching = state, run != nil else { return [] }
    return [.look]
  }

  // MARK: - Time

  private mutating func rang(_ now: MonotonicInstant) -> [Action] {
    switch state {
    case .watching:
      claim.slowDown()
      return run == nil ? [] : [.look, .wake(now + claim.interval)]
    case .taking(let asked):
      guard run != nil, asked + settings.lease <= now else { return [.wake(asked + settings.lease)] }
      return watch(now) + [.distrust]
    case .holding(let hold):
      guard now < hold.until else {
        state = .lapsed(hold, isCut: false)
        return [.lapse] + rang(now)
      }
      return overdue(hold, now) ?? ask(hold, now) { .holding($0) }
    case .lapsed(let hold, let isCut):
      let cuts = !isCut && hold.until + settings.grace <= now
      if cuts { state = .lapsed(hold, isCut: true) }
      let isCut = isCut || cuts
      let first: [Action] = cuts ? [.cut] : []
      guard run != nil else { return first + (isCut ? [] : [.wake(hold.until + settings.grace)]) }
      return first + (overdue(hold, now) ?? ask(hold, now) { .lapsed($0, isCut: isCut) })
    case .leaving(let hold, let isDrained):
      guard run != nil else { return [] }
      let first = isDrained && quietUntil != nil && !isQuiet(now) ? release(now) : []
      return first + (overdue(hold, now) ?? ask(hold, now) { .leaving($0, isDrained: isDrained) })
    }
  }

  /// What to do while a beat is on its way; nil if none is.
  private func overdue(_ hold: Hold, _ now: MonotonicInstant) -> [Action]? {
    guard hold.isAsking else {
      let due = hold.sent + settings.beat
      return due <= now ? nil : wake(hold)
    }
    return hold.sent + settings.lease <= now ? [.distrust] : wake(hold)
  }
}

extension FleetLease.Settings {
  init(_ settings: FleetSettings) {
    self.init(host: settings.host)
    (lease, grace, adopt) = (settings.lease, settings.grace, settings.adopt)
  }
}
