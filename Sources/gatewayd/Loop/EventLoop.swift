import CSystemdEvent
import GatewayCore
import Glibc

/// The daemon's one loop, on sd-event: descriptors, one kernel timer for all of `timers`, signals, work put off to the
/// next turn, the watchdog. Everything runs on the thread that calls `run()`.
///
/// sd-event dispatches one source per turn. Each turn runs, in this order: what was put off by `onNextTurn`, then
/// `beforeSleep`, then (when nothing is ready) the sleep, then one source.
final class EventLoop {
  /// What a descriptor is ready for, or watched for.
  struct Readiness: OptionSet {
    let rawValue: UInt32
    static let readable = Readiness(rawValue: UInt32(EPOLLIN.rawValue))
    static let writable = Readiness(rawValue: UInt32(EPOLLOUT.rawValue))
    /// Both directions are shut; reported whether asked for or not.
    static let hungUp = Readiness(rawValue: UInt32(EPOLLHUP.rawValue))
    /// An error is waiting to be read; reported whether asked for or not.
    static let failed = Readiness(rawValue: UInt32(EPOLLERR.rawValue))
  }

  /// Watches one descriptor for as long as this object lives. Let go of it before the descriptor is closed.
  final class IOSource {
    private var source: OpaquePointer?
    private let handler: (Readiness) -> Void

    fileprivate init(
      _ event: OpaquePointer, _ descriptor: Int32, _ interest: Readiness, _ handler: @escaping (Readiness) -> Void
    )
      throws(SystemError)
    {
      self.interest = interest
      self.handler = handler
      let me = Unmanaged.passUnretained(self).toOpaque()
      let result = sd_event_add_io(
        event, &source, descriptor, interest.rawValue,
        { _, _, events, me in
          me.map { Unmanaged<IOSource>.fromOpaque($0).takeUnretainedValue().handler(Readiness(rawValue: events)) }
          return 0
        }, me)
      try check(result, "watch a descriptor")
    }

    deinit { sd_event_source_disable_unref(source) }

    /// What the descriptor is watched for; level-triggered.
    var interest: Readiness {
      didSet { if interest != oldValue { sd_event_source_set_io_events(source, interest.rawValue) } }
    }
  }

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

  private let event: OpaquePointer
  private var timer: OpaquePointer?
  /// What the kernel timer is set to. Never later than the next deadline; it may be earlier after a cancellation, which
  /// costs one idle turn instead of a system call for every cancelled timer.
  private var armed: MonotonicInstant?
  private var signals: [SignalSource] = []
  private var deferred: [() -> Void] = []
  private var running: [() -> Void] = []
  private var exitCode: Int32?

  /// How late the kernel may wake us for a timer, in microseconds.
  private static let timerSlack: UInt64 = 1_000

  init() throws(SystemError) {
    timers = Timers(time: time)
    var event: OpaquePointer?
    let result = sd_event_new(&event)
    guard result >= 0, let event else { throw SystemError("make an event loop", code: -result) }
    self.event = event
    try addTimer()
  }

  deinit {
    sd_event_source_disable_unref(timer)
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
  }

  /// Watches a descriptor until the returned object goes. The handler may let go of it.
  func addIO(_ descriptor: Int32, _ interest: Readiness, _ handler: @escaping (Readiness) -> Void) throws(SystemError)
    -> IOSource
  {
    try IOSource(event, descriptor, interest, handler)
  }

  /// Watches a process of ours until it has ended or the returned object goes. The handler may let go of it.
  func addChild(_ process: pid_t, _ handler: @escaping (ChildEnding) -> Void) throws(SystemError) -> ChildSource {
    try ChildSource(event, process, handler)
  }

  /// Reads a mailbox until the returned object goes.
  func receive<Letter>(from mailbox: Mailbox<Letter>, _ handler: @escaping (Letter) -> Void) throws(SystemError)
    -> IOSource
  {
    try addIO(mailbox.descriptor, .readable) { _ in
      for letter in mailbox.collect() { handler(letter) }
    }
  }

  /// Runs `body` in the next turn, before the loop sleeps; the loop's way to be called back without recursion.
  func onNextTurn(_ body: @escaping () -> Void) { deferred.append(body) }

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
    beforeSleep?()
    armTimer()
    let mayOversleep = deferred.isEmpty && exitCode == nil
    let microseconds = mayOversleep ? limit.map { UInt64(max(0, $0.nanoseconds) / 1_000) } ?? .max : 0
    var ready = sd_event_prepare(event)
    if ready == 0 { ready = sd_event_wait(event, microseconds) }
    if ready > 0 { ready = sd_event_dispatch(event) }
    try check(ready, "turn the event loop")
  }

  /// Only what was there at the start: work that puts itself off again must not hold the loop.
  private func runDeferred() {
    guard !deferred.isEmpty else { return }
    swap(&deferred, &running)
    for body in running { body() }
    running.removeAll(keepingCapacity: true)
  }

  private func addTimer() throws(SystemError) {
    let me = Unmanaged.passUnretained(self).toOpaque()
    let result = sd_event_add_time(
      event, &timer, CLOCK_BOOTTIME, UInt64.max, Self.timerSlack,
      { _, _, me in
        me.map { Unmanaged<EventLoop>.fromOpaque($0).takeUnretainedValue().timerFired() }
        return 0
      }, me)
    try check(result, "add a timer")
  }

  private func armTimer() {
    guard let next = timers.nextDeadline, armed.map({ next < $0 }) ?? true else { return }
    armed = next
    let (whole, rest) = max(0, next.nanoseconds).quotientAndRemainder(dividingBy: 1_000)
    sd_event_source_set_time(timer, UInt64(whole) + (rest > 0 ? 1 : 0))
    sd_event_source_set_enabled(timer, Int32(SD_EVENT_ONESHOT))
  }

  private func timerFired() {
    armed = nil
    timers.fire()
  }
}

private func check(_ result: Int32, _ operation: @autoclosure () -> String) throws(SystemError) {
  if result < 0 { throw SystemError(operation(), code: -result) }
}
