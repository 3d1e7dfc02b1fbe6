import CLinux
import GatewayCore
import Glibc

/// The daemon's one loop: descriptors, one kernel timer for all of `timers`, work put off to the next turn, and in
/// `system` signals, processes and the watchdog. Everything runs on the thread that calls `run()`.
///
/// Each turn runs, in this order: what was put off by `onNextTurn`, then `beforeSleep`, then (when nothing is ready)
/// the sleep, then the sources that are ready, with `beforeSleep` between them, and last the first of what had yielded
/// by `afterOthers` before the kernel was looked at. Decisions 0001 and 0059.
final class EventLoop {
  /// Work for the next turn. In a structure because an array of closures would wrap each of them once more.
  private struct Deferred {
    let body: () -> Void
  }

  /// Work that has yielded: others go first.
  private struct Yielded {
    /// Of the source that is not read meanwhile, if it is one.
    let tag: UInt64?
    let body: () -> Void
  }

  /// The clocks that the timers go by.
  let time = SystemTime()
  /// The daemon's timers; `run()` fires them.
  let timers: Timers
  /// Signals, processes, the watchdog.
  let system: SystemEvents
  /// Called with the loop in every turn before it may sleep: output that was gathered is written here.
  var beforeSleep: (EventLoop) -> Void = { _ in }
  /// To be told from `beforeSleep`: it has more to write than one turn allows, and is called again soon. Whatever makes more
  /// for the same clients had better wait.
  var hasWritesLeft = false
  /// How many writes `beforeSleep` would make now, about.
  var writesDue: () -> Int = { 0 }

  private let sources: IOSourceTable
  private var systemSource: IOSource?
  private let timer: Int32
  private var timerSource: IOSource?
  /// What the kernel timer is set to. Never later than the next deadline; it may be earlier after a cancellation, which
  /// costs one idle turn instead of a system call for every cancelled timer.
  private var armed: MonotonicInstant?
  private var deferred: [Deferred] = []
  private var running: [Deferred] = []
  private var yielded: [Yielded] = []
  /// Reads that wait until everything is written, the one that has waited longest first.
  private var held: [Yielded] = []
  private var exitCode: Int32?
  private var meter: TurnMeter

  /// Timers ring at full multiples of this, in nanoseconds, so that neighbours share one wake-up.
  private static let timerStep: Int64 = 1_000_000
  /// How long what has yielded goes on before the kernel is looked at again.
  private static let yieldedLimit: Duration = .microseconds(100)
  /// How long timers ring before others have their turn.
  private static let timersLimit: Duration = .milliseconds(1)

  /// `turnClock`: by what the longest turn is measured.
  init(turnClock: TurnMeter.Clock = .wall) throws(SystemError) {
    meter = TurnMeter(turnClock)
    timers = Timers(time: time)
    sources = try IOSourceTable()
    system = try SystemEvents()
    timer = gw_timer_make()
    guard timer >= 0 else { throw SystemError("make a timer") }
    timerSource = try sources.add(timer, .readable) { [unowned self] _ in timerFired() }
    systemSource = try sources.add(system.descriptor, .readable) { [system] _ in system.isDue = true }
  }

  deinit {
    timerSource = nil
    systemSource = nil
    if timer >= 0 { Glibc.close(timer) }
  }

  /// Watches a descriptor until the returned object goes. The handler may let go of it.
  func addIO(_ descriptor: Int32, _ interest: Readiness, _ handler: @escaping (Readiness) -> Void) throws(SystemError)
    -> IOSource
  {
    try sources.add(descriptor, interest, handler)
  }

  /// Reads a mailbox until the returned object goes. What waited for the other thread is answered before anything that
  /// was put off is done.
  func receive<Letter>(from mailbox: Mailbox<Letter>, _ handler: @escaping (Letter) -> Void) throws(SystemError)
    -> IOSource
  {
    try addIO(mailbox.descriptor, .readable) { [unowned self] _ in
      for letter in mailbox.collect() { handler(letter) }
      writeBetween()
    }
  }

  /// Runs `body` in the next turn, before the loop sleeps; the loop's way to be called back without recursion.
  func onNextTurn(_ body: @escaping () -> Void) { deferred.append(Deferred(body: body)) }

  /// Runs `body` behind everything that is ready when the kernel is asked the next time, and behind what yielded
  /// before: for work that yields in the middle, so that others have their turn. What they want written is written
  /// before. Until then `source` is only told that it may write.
  func afterOthers(_ source: IOSource? = nil, _ body: @escaping () -> Void) {
    yielded.append(Yielded(tag: source.map(sources.yieldTurn), body: body))
  }

  /// Whether a source that brings more to be written has to wait by `afterWrites`: not everything is written yet, or others
  /// have waited for that.
  var holdsReads: Bool { hasWritesLeft || !held.isEmpty }

  /// Runs `body`, which reads `source`, when everything is written, behind those that wait for that already. Until then
  /// `source` is only told that it may write.
  func afterWrites(_ source: IOSource, _ body: @escaping () -> Void) {
    held.append(Yielded(tag: sources.yieldTurn(source), body: body))
  }

  /// Whether a source is ready now, by what the kernel says, or has yielded. One that had something for `client` alone
  /// when it was served last does not count: a client that waits for its answers while it calls is not interrupted by
  /// them.
  func isAnyoneReady(besides client: Int? = nil) -> Bool {
    yielded.contains { mayBeForOthers($0, than: client) } || held.contains { mayBeForOthers($0, than: client) }
      || sources.isAnyoneReady(besides: client)
  }

  private func mayBeForOthers(_ waiting: Yielded, than client: Int?) -> Bool {
    waiting.tag.map { sources.mayBeForOthers($0, than: client) } ?? false
  }

  /// Whether another source has something to be done: it has yielded, or the kernel says that it is ready.
  func isAnyoneReady(otherThan source: IOSource?) -> Bool {
    !yielded.isEmpty || !held.isEmpty || sources.isAnyoneReady(otherThan: source)
  }

  /// To be told from `beforeSleep`: what there is to write now is for this client alone, or, with nil, for several.
  func noteRecipient(_ client: Int?) { sources.noteRecipient(client) }

  /// How long the loop was busy with one thing at most, since it was made.
  var longestTurn: Duration { .nanoseconds(meter.longest) }
  /// How long it was busy with one thing each time.
  var turns: DurationHistogram { meter.turns }
  /// How many descriptors it watches.
  var watchedCount: Int { sources.count }

  /// Turns until `exit` is called; returns its code.
  func run() throws(SystemError) -> Int32 {
    while true {
      if let code = exitCode {
        exitCode = nil
        return code
      }
      try turn()
    }
  }

  /// Makes `run()` return after the present turn.
  func exit(_ code: Int32) { exitCode = code }

  /// One turn, which sleeps at most `limit`, or without limit when it is nil.
  func turn(sleepingAtMost limit: Duration? = nil) throws(SystemError) {
    runDeferred()
    time.turn()
    if timerIsDue {
      beginTurn()
      fireTimers()
    }
    if system.isDue { try system.turn() }
    beforeSleep(self)
    let mayGoOn = yielded.count
    let isDue = timerIsDue
    if !isDue, let next = unarmedDeadline { armTimer(next) }
    let mayOversleep = !hasDeferred && !hasWritesLeft && exitCode == nil && !isDue
    if mayOversleep { meter.rest(at: time.now) }
    try sources.dispatch(milliseconds: mayOversleep ? Self.milliseconds(limit) : 0) { isFirst in
      if !isFirst { writeBetween() }
      beginTurn()
      return isFirst || exitCode == nil
    }
    if !yielded.isEmpty { writeBetween() }
    sources.forgetServed()
    if system.isDue, exitCode == nil { try system.turn() }
    if mayGoOn > 0, exitCode == nil { goOn(mayGoOn) }
    if !held.isEmpty, exitCode == nil { readHeld() }
  }

  /// What is to be written before others go on; where that is more than a turn allows, the rest of it is the next turn's.
  @inline(__always)
  private func writeBetween() { if !hasWritesLeft { beforeSleep(self) } }

  /// Whether a timer has to be fired now. What the kernel's timer is set to, it tells by itself, as other sources do;
  /// the clock is only asked for what was set since. What is set while that one is about to ring may thus ring with it,
  /// up to a millisecond late.
  @inline(__always)
  private var timerIsDue: Bool { unarmedDeadline.map(isOver) ?? false }

  private func isOver(_ deadline: MonotonicInstant) -> Bool { deadline <= time.now }

  /// The next deadline, where the kernel's timer does not tell of it in time.
  @inline(__always)
  private var unarmedDeadline: MonotonicInstant? {
    guard let next = timers.nextDeadline else { return nil }
    if let armed, armed <= next { return nil }
    return next
  }

  /// Something was put off to the next turn, has yielded, or waits until everything is written.
  var hasDeferred: Bool { !deferred.isEmpty || !yielded.isEmpty || !held.isEmpty }

  private static func milliseconds(_ limit: Duration?) -> Int32 {
    limit.map { Int32(clamping: (max(0, $0.nanoseconds) + 999_999) / 1_000_000) } ?? -1
  }

  /// Only what was there at the start: work that puts itself off again must not hold the loop.
  @inline(__always)
  private func runDeferred() { if !deferred.isEmpty { runAllDeferred() } }

  private func runAllDeferred() {
    swap(&deferred, &running)
    // Taken from the end, and mostly there is only one.
    if running.count > 1 { running.reverse() }
    while let work = running.popLast() { run(work.body) }
  }

  /// The first of what has yielded goes on, behind what the others' turns have left to be done. What has not begun in
  /// time is the first the next time.
  private func goOn(_ count: Int) {
    runDeferred()
    writeBetween()
    let end = time.now + Self.yieldedLimit
    var left = count
    while left > 0, exitCode == nil, left == count || time.now < end {
      left -= 1
      // Those behind it are still waiting meanwhile, which `isAnyoneReady` has to say.
      goOn(with: yielded.removeFirst())
    }
  }

  /// The first of those that have waited for all writes read on, until one of them has brought as much again, within the
  /// same time.
  private func readHeld() {
    let end = time.now + Self.yieldedLimit
    while !held.isEmpty, !hasWritesLeft, exitCode == nil {
      goOn(with: held.removeFirst())
      guard time.now < end else { return }
    }
  }

  private func goOn(with waiting: Yielded) {
    if let tag = waiting.tag { sources.goOn(tag) }
    run(waiting.body)
    writeBetween()
    sources.forgetServed()
  }

  /// Each has the time when its turn came.
  private func run(_ body: () -> Void) {
    beginTurn()
    body()
  }

  /// What follows is another thing, which came in now.
  private func beginTurn() { meter.next(at: time.turnNow()) }

  private func armTimer(_ next: MonotonicInstant) {
    armed = next
    let (steps, rest) = max(0, next.nanoseconds).quotientAndRemainder(dividingBy: Self.timerStep)
    let (rounded, overflow) = (steps + (rest > 0 ? 1 : 0)).multipliedReportingOverflow(by: Self.timerStep)
    gw_timer_set(timer, overflow ? .max : rounded)
  }

  private func timerFired() {
    gw_timer_take(timer)
    armed = nil
    fireTimers()
  }

  /// Many that ring at the same moment (forty links of which each gives back much memory) go on in the next turn.
  private func fireTimers() {
    let end = time.now + Self.timersLimit
    timers.fire { time.now < end }
  }
}
