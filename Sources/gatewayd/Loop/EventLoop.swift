import CLinux
import CSystemdEvent
import GatewayCore
import Glibc

/// The daemon's one loop: descriptors, one kernel timer for all of `timers`, work put off to the next turn, and through
/// sd-event signals, processes and the watchdog. Everything runs on the thread that calls `run()`.
///
/// Each turn runs, in this order: what was put off by `onNextTurn`, then `beforeSleep`, then (when nothing is ready) the
/// sleep, then the sources that are ready, with `beforeSleep` between them, and last the first of what had stepped aside by
/// `afterOthers` before the kernel was looked at.
/// sd-event is one of these sources, because it asks the kernel anew for all that is ready whenever it has dispatched one.
/// Decisions 0001 and 0059.
final class EventLoop {
  /// How a process ended.
  enum ChildEnding: Equatable {
    case exited(Int32)
    case killed(signal: Int32)
  }

  /// Calls back once when a process has ended, then reaps it; lives at most as long as this object. `SIGCHLD` must have
  /// been taken by `takeSignals`.
  final class ChildSource {
    private var source: OpaquePointer?
    private let handler: (ChildEnding) -> Void

    fileprivate init(_ event: OpaquePointer, _ process: pid_t, _ handler: @escaping (ChildEnding) -> Void)
      throws(SystemError)
    {
      self.handler = handler
      let me = Unmanaged.passUnretained(self).toOpaque()
      let result = sd_event_add_child(
        event, &source, process, WEXITED,
        { _, facts, me in
          guard let facts, let me else { return 0 }
          let status = facts.pointee._sifields._sigchld.si_status
          let ending = facts.pointee.si_code == 1 ? ChildEnding.exited(status) : .killed(signal: status)
          Unmanaged<ChildSource>.fromOpaque(me).takeUnretainedValue().handler(ending)
          return 0
        }, me)
      try check(result, "watch a process")
    }

    deinit { sd_event_source_disable_unref(source) }
  }

  /// Work for the next turn. In a structure because an array of closures would wrap each of them once more.
  private struct Deferred {
    let body: () -> Void
  }

  /// Work that lets others go first.
  private struct SteppedAside {
    /// Of the source that is not read meanwhile, if it is one.
    let tag: UInt64?
    let body: () -> Void
  }

  /// Calls back for one signal for as long as this object lives.
  private final class SignalSource {
    private var source: OpaquePointer?
    private let handler: () -> Void

    init(_ event: OpaquePointer, _ number: Int32, _ handler: @escaping () -> Void) throws(SystemError) {
      self.handler = handler
      let me = Unmanaged.passUnretained(self).toOpaque()
      let result = sd_event_add_signal(
        event, &source, number,
        { _, _, me in
          me.map { Unmanaged<SignalSource>.fromOpaque($0).takeUnretainedValue().handler() }
          return 0
        }, me)
      try check(result, "watch signal \(number)")
    }

    deinit { sd_event_source_disable_unref(source) }
  }

  /// The clocks that the timers go by.
  let time = SystemTime()
  /// The daemon's timers; `run()` fires them.
  let timers: Timers
  /// Called in every turn before the loop may sleep: output that was gathered is written here.
  var beforeSleep: (() -> Void)?
  /// How many writes `beforeSleep` would make now, about.
  var writesDue: () -> Int = { 0 }

  private let sources: IOSourceTable
  private let event: OpaquePointer
  private var systemSource: IOSource?
  /// sd-event has to look at its sources before the loop may sleep.
  private var systemIsDue = true
  private let timer: Int32
  private var timerSource: IOSource?
  /// What the kernel timer is set to. Never later than the next deadline; it may be earlier after a cancellation, which
  /// costs one idle turn instead of a system call for every cancelled timer.
  private var armed: MonotonicInstant?
  private var signals: [SignalSource] = []
  private var deferred: [Deferred] = []
  private var running: [Deferred] = []
  private var aside: [SteppedAside] = []
  private var exitCode: Int32?
  private var meter: TurnMeter

  /// Timers ring at full multiples of this, in nanoseconds, so that neighbours share one wake-up.
  private static let timerStep: Int64 = 1_000_000
  /// How long those who stepped aside go on before the kernel is looked at again.
  private static let asideLimit: Duration = .microseconds(100)

  /// `turnClock`: by what the longest turn is measured.
  init(turnClock: TurnMeter.Clock = .wall) throws(SystemError) {
    meter = TurnMeter(turnClock)
    timers = Timers(time: time)
    sources = try IOSourceTable()
    timer = gw_timer_make()
    var event: OpaquePointer?
    let result = sd_event_new(&event)
    guard result >= 0, let event else {
      Glibc.close(timer)
      throw SystemError("make an event loop", code: -result)
    }
    self.event = event
    guard timer >= 0 else { throw SystemError("make a timer") }
    timerSource = try sources.add(timer, .readable) { [unowned self] _ in timerFired() }
    systemSource = try sources.add(sd_event_get_fd(event), .readable) { [unowned self] _ in systemIsDue = true }
  }

  deinit {
    timerSource = nil
    systemSource = nil
    if timer >= 0 { Glibc.close(timer) }
    signals = []
    sd_event_unref(event)
  }

  /// Blocks signals for this thread and all that it starts later, so that they reach `onSignal` only; ignores
  /// `SIGPIPE` and `SIGXFSZ`, so that a write fails instead. To be called before any thread exists.
  static func takeSignals(_ numbers: [Int32]) {
    var set = sigset_t()
    sigemptyset(&set)
    for number in numbers { sigaddset(&set, number) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
    signal(SIGPIPE, SIG_IGN)
    signal(SIGXFSZ, SIG_IGN)
  }

  /// Calls back for each arrival of a signal that `takeSignals` took.
  func onSignal(_ number: Int32, _ handler: @escaping () -> Void) throws(SystemError) {
    signals.append(try SignalSource(event, number, handler))
    systemIsDue = true
  }

  /// Watches a descriptor until the returned object goes. The handler may let go of it.
  func addIO(_ descriptor: Int32, _ interest: Readiness, _ handler: @escaping (Readiness) -> Void) throws(SystemError)
    -> IOSource
  {
    try sources.add(descriptor, interest, handler)
  }

  /// Watches a process of ours until it has ended or the returned object goes. The handler may let go of it.
  func addChild(_ process: pid_t, _ handler: @escaping (ChildEnding) -> Void) throws(SystemError) -> ChildSource {
    systemIsDue = true
    return try ChildSource(event, process, handler)
  }

  /// Reads a mailbox until the returned object goes. Whoever waited for the other thread is answered before anything that
  /// was put off is done.
  func receive<Letter>(from mailbox: Mailbox<Letter>, _ handler: @escaping (Letter) -> Void) throws(SystemError)
    -> IOSource
  {
    try addIO(mailbox.descriptor, .readable) { [unowned self] _ in
      for letter in mailbox.collect() { handler(letter) }
      beforeSleep?()
    }
  }

  /// Runs `body` in the next turn, before the loop sleeps; the loop's way to be called back without recursion.
  func onNextTurn(_ body: @escaping () -> Void) { deferred.append(Deferred(body: body)) }

  /// Runs `body` behind everything that is ready when the kernel is asked the next time, and behind what stepped aside
  /// before: for work that yields in the middle, so that others have their turn. What they want written is written
  /// before. Until then `source` is only told that it may write.
  func afterOthers(_ source: IOSource? = nil, _ body: @escaping () -> Void) {
    aside.append(SteppedAside(tag: source.map(sources.yieldTurn), body: body))
  }

  /// Whether a source is ready now, by what the kernel says, or has stepped aside. One that had something for `client` alone
  /// when it was served last does not count: who waits for its answers while it calls is not interrupted by them.
  func isAnyoneReady(besides client: Int? = nil) -> Bool {
    aside.contains { $0.tag.map { sources.mayBeForOthers($0, than: client) } ?? false }
      || sources.isAnyoneReady(besides: client)
  }

  /// Whether another source has something to be done: it stepped aside, or the kernel says that it is ready.
  func isAnyoneReady(otherThan source: IOSource?) -> Bool {
    !aside.isEmpty || sources.isAnyoneReady(otherThan: source)
  }

  /// To be told from `beforeSleep`: what there is to write now is for this client alone, or, with nil, for several.
  func noteRecipient(_ client: Int?) { sources.noteRecipient(client) }

  /// How long the loop was busy with one thing at most, since it was made.
  var longestTurn: Duration { .nanoseconds(meter.longest) }

  /// Keeps the service manager's watchdog content for as long as the loop turns. False when none is asked for.
  func startWatchdog() throws(SystemError) -> Bool {
    let result = sd_event_set_watchdog(event, 1)
    try check(result, "start the watchdog")
    return result > 0
  }

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
      timers.fire()
    }
    if systemIsDue { try turnSystem() }
    beforeSleep?()
    let steppedAside = aside.count
    let isDue = timerIsDue
    if !isDue { armTimer() }
    let mayOversleep = !hasDeferred && exitCode == nil && !isDue
    if mayOversleep { meter.rest(at: time.now) }
    try sources.dispatch(milliseconds: mayOversleep ? Self.milliseconds(limit) : 0) { isFirst in
      if !isFirst { beforeSleep?() }
      beginTurn()
      return isFirst || exitCode == nil
    }
    if !aside.isEmpty { beforeSleep?() }
    sources.forgetServed()
    if systemIsDue, exitCode == nil { try turnSystem() }
    if steppedAside > 0, exitCode == nil { goOn(steppedAside) }
  }

  /// Whether a timer has to be fired now. What the kernel's timer is set to, it tells by itself, as other sources do; the
  /// clock is only asked for what was set since. What is set while that one is about to ring may thus ring with it, up to a
  /// millisecond late.
  private var timerIsDue: Bool {
    guard let next = timers.nextDeadline, armed.map({ next < $0 }) ?? true else { return false }
    return next <= time.now
  }

  /// Something was put off to the next turn, or stepped aside.
  var hasDeferred: Bool { !deferred.isEmpty || !aside.isEmpty }

  private static func milliseconds(_ limit: Duration?) -> Int32 {
    limit.map { Int32(clamping: (max(0, $0.nanoseconds) + 999_999) / 1_000_000) } ?? -1
  }

  /// Lets sd-event dispatch what is ready of its own and then arm itself, which it has to be before its descriptor is
  /// waited for.
  private func turnSystem() throws(SystemError) {
    systemIsDue = false
    var ready = isArmed ? sd_event_wait(event, 0) : sd_event_prepare(event)
    while ready > 0 || (ready == 0 && !isArmed) {
      if ready > 0 { ready = sd_event_dispatch(event) }
      if ready >= 0 { ready = sd_event_prepare(event) }
    }
    try check(ready, "turn the event loop")
  }

  /// sd-event's descriptor becomes readable when one of its sources is ready.
  private var isArmed: Bool { sd_event_get_state(event) == Int32(SD_EVENT_ARMED) }

  /// Only what was there at the start: work that puts itself off again must not hold the loop.
  private func runDeferred() {
    guard !deferred.isEmpty else { return }
    swap(&deferred, &running)
    for work in running { run(work.body) }
    running.removeAll(keepingCapacity: true)
  }

  /// The first that have stepped aside go on, behind what the others' turns have left to be done. Those that have not begun
  /// in time are the first the next time.
  private func goOn(_ count: Int) {
    runDeferred()
    beforeSleep?()
    let end = time.now + Self.asideLimit
    var left = count
    while left > 0, exitCode == nil, left == count || time.now < end {
      left -= 1
      // Those behind it are still waiting meanwhile, and whoever asks has to know.
      let first = aside.removeFirst()
      if let tag = first.tag { sources.goOn(tag) }
      run(first.body)
      beforeSleep?()
      sources.forgetServed()
    }
  }

  /// Each has the time when its turn came.
  private func run(_ body: () -> Void) {
    beginTurn()
    body()
  }

  /// What follows is another thing, which came in now.
  private func beginTurn() { meter.next(at: time.turnNow()) }

  private func armTimer() {
    guard let next = timers.nextDeadline, armed.map({ next < $0 }) ?? true else { return }
    armed = next
    let (steps, rest) = max(0, next.nanoseconds).quotientAndRemainder(dividingBy: Self.timerStep)
    let (rounded, overflow) = (steps + (rest > 0 ? 1 : 0)).multipliedReportingOverflow(by: Self.timerStep)
    gw_timer_set(timer, overflow ? .max : rounded)
  }

  private func timerFired() {
    gw_timer_take(timer)
    armed = nil
    timers.fire()
  }
}

private func check(_ result: Int32, _ operation: @autoclosure () -> String) throws(SystemError) {
  if result < 0 { throw SystemError(operation(), code: -result) }
}
