import CSystemdEvent
import Glibc

/// What sd-event does for the loop: signals, the end of processes, and the service manager's watchdog. It asks the
/// kernel anew for all that is ready whenever it has dispatched one of them, and so the loop turns it as one source
/// among others. Decision 0001.
final class SystemEvents {
  /// How a process ended.
  enum ChildEnding: Equatable {
    case exited(Int32)
    case killed(signal: Int32)
  }

  /// Calls back once when a process has ended, then reaps it; lives at most as long as the loop. `SIGCHLD` must have
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

  private let event: OpaquePointer
  private var signals: [SignalSource] = []
  /// It has to be turned before the loop may sleep. Set when its descriptor is readable.
  var isDue = true

  init() throws(SystemError) {
    var event: OpaquePointer?
    let result = sd_event_new(&event)
    guard result >= 0, let event else { throw SystemError("make an event loop", code: -result) }
    self.event = event
  }

  deinit {
    signals = []
    sd_event_unref(event)
  }

  /// Readable when one of its sources is ready.
  var descriptor: Int32 { sd_event_get_fd(event) }

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
    isDue = true
  }

  /// Watches a process of ours until it has ended or the returned object goes. The handler may let go of it.
  func addChild(_ process: pid_t, _ handler: @escaping (ChildEnding) -> Void) throws(SystemError) -> ChildSource {
    isDue = true
    return try ChildSource(event, process, handler)
  }

  /// Keeps the service manager's watchdog content for as long as the loop turns. False when none is asked for.
  func startWatchdog() throws(SystemError) -> Bool {
    let result = sd_event_set_watchdog(event, 1)
    try check(result, "start the watchdog")
    return result > 0
  }

  /// Dispatches what is ready of its own and then arms its descriptor, which has to be before the loop waits for it.
  func turn() throws(SystemError) {
    isDue = false
    var ready = isArmed ? sd_event_wait(event, 0) : sd_event_prepare(event)
    while ready > 0 || (ready == 0 && !isArmed) {
      if ready > 0 { ready = sd_event_dispatch(event) }
      if ready >= 0 { ready = sd_event_prepare(event) }
    }
    try check(ready, "turn the event loop")
  }

  private var isArmed: Bool { sd_event_get_state(event) == Int32(SD_EVENT_ARMED) }
}

private func check(_ result: Int32, _ operation: @autoclosure () -> String) throws(SystemError) {
  if result < 0 { throw SystemError(operation(), code: -result) }
}
