import Glibc
import Synchronization

/// Performs what a `ClientMachine` decides: the socket, the clock, and the tasks that wait. Programs come in on any thread;
/// one thread of its own waits for the daemon. It starts with the first call, and ends with the client.
final class ClientLoop: Sendable {
  private struct State {
    var machine: ClientMachine
    var socket = SocketConnection()
    var calls: [CallID: PendingCall] = [:]
    var readers: [SubscriptionID: [Promise<Item?>]] = [:]
    /// The thread waits until then, and for what the socket was then.
    var sleep = Sleep()
    var isRunning = false
  }

  private struct PendingCall {
    let promise: Promise<RawObject>
    let progress: (@Sendable (RawObject) -> Void)?
  }

  /// What the thread waits for.
  private struct Sleep: Equatable {
    var descriptor: Int32 = -1
    var hasUnsentBytes = false
    var deadline: ContinuousClock.Instant?
    /// For nothing any more: the client is closed.
    var isOver = false
  }

  let path: String
  private let state: Mutex<State>
  /// What is written to this socket wakes the thread, which reads the other one. -1 where the system has none left.
  private let bell: Int32
  private let ear: Int32

  init(path: String, name: String, connectTimeout: Duration) {
    self.path = path
    let machine = ClientMachine(
      path: path, name: name, connectTimeout: connectTimeout, seed: .random(in: .min ... .max))
    state = Mutex(State(machine: machine))
    var pair: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    _ = socketpair(AF_UNIX, type, 0, &pair)
    (bell, ear) = (pair[0], pair[1])
  }

  deinit {
    for descriptor in [bell, ear] where descriptor >= 0 { _ = Glibc.close(descriptor) }
  }

  var hello: JSON? { state.withLock { $0.machine.hello?.json } }
  var isConnected: Bool { state.withLock { $0.machine.link == .open } }

  // MARK: What the program does

  /// The result of a call.
  func call(_ call: Call, progress: (@Sendable (RawObject) -> Void)? = nil) async throws -> RawObject {
    try Task.checkCancellation()
    let pending = PendingCall(promise: Promise(), progress: progress)
    let id = step { (state, now) in
      let (id, actions) = state.machine.submit(call, now: now)
      state.calls[id] = pending
      return (id, actions)
    }
    return try await pending.promise.value { self.withdraw(id) }
  }

  /// Makes a subscription, and returns when the daemon has agreed, with its answer.
  func subscribe(_ options: SubscribeOptions) async throws -> (SubscriptionID, RawObject) {
    try Task.checkCancellation()
    let pending = PendingCall(promise: Promise(), progress: nil)
    let (subscription, call) = step { (state, now) in
      let (subscription, call, actions) = state.machine.subscribe(options, now: now)
      state.calls[call] = pending
      return ((subscription, call), actions)
    }
    do {
      return (subscription, try await pending.promise.value { self.withdraw(call) })
    } catch {
      unsubscribe(subscription)
      throw error
    }
  }

  /// The next item; nil when none comes any more.
  func next(_ subscription: SubscriptionID) async throws -> Item? {
    try Task.checkCancellation()
    let promise = Promise<Item?>()
    step { (state, _) in
      state.readers[subscription, default: []].append(promise)
      return ((), [.offer(subscription)])
    }
    return try await promise.value { self.forget(promise, of: subscription) }
  }

  func position(of subscription: SubscriptionID) -> Position? {
    state.withLock { $0.machine.position(of: subscription) }
  }

  func unsubscribe(_ subscription: SubscriptionID) {
    step { (state, _) in ((), state.machine.unsubscribe(subscription)) }
  }

  func close() {
    step { (state, _) in ((), state.machine.close()) }
  }

  private func withdraw(_ id: CallID) {
    step { (state, now) in
      state.calls[id] = nil
      return ((), state.machine.withdraw(id, now: now))
    }
  }

  private func forget(_ promise: Promise<Item?>, of subscription: SubscriptionID) {
    state.withLock { $0.readers[subscription]?.removeAll { $0 === promise } }
  }

  // MARK: Performing

  /// What is told to tasks when the lock is free again, in this order.
  private typealias Telling = [@Sendable () -> Void]

  /// Does something with the machine, and performs what it orders.
  @discardableResult
  private func step<Result: Sendable>(
    _ act: (inout State, ContinuousClock.Instant) -> (Result, [ClientMachine.Action])
  ) -> Result {
    let (result, telling): (Result, Telling) = state.withLock { state in
      let now = ContinuousClock.now
      let (result, actions) = act(&state, now)
      let telling = perform(actions, &state, now)
      wakeThread(&state)
      return (result, telling)
    }
    for tell in telling { tell() }
    return result
  }

  private func perform(
    _ actions: [ClientMachine.Action], _ state: inout State, _ now: ContinuousClock.Instant
  ) -> Telling {
    var telling: Telling = []
    var actions = actions[...]
    while let action = actions.popFirst() {
      switch action {
      case .dial:
        // What follows in the list was decided before the answer, and comes before what that brings.
        actions += state.machine.dialed(dial(&state), now: now)
      case .write(let line): state.socket.write(line)
      case .hangUp: state.socket.close()
      case .settle(let id, let outcome):
        guard let call = state.calls.removeValue(forKey: id) else { continue }
        guard call.promise.settle(outcome.mapError { $0 }) else { continue }
        telling.append { call.promise.wake() }
      case .progress(let id, let part):
        guard let progress = state.calls[id]?.progress else { continue }
        telling.append { progress(part) }
      case .offer(let subscription): actions += offer(subscription, &state, &telling)
      }
    }
    return telling
  }

  private func dial(_ state: inout State) -> GatewayError? {
    guard bell >= 0, startThread(&state) else {
      return GatewayError(.daemonUnavailable, "this process has no descriptor or thread left", retry: true)
    }
    let reason = state.socket.open(path)
    return reason == 0 ? nil : SocketPath.explain(reason, path)
  }

  /// Gives a subscription's items to those who wait for them.
  private func offer(
    _ subscription: SubscriptionID, _ state: inout State, _ telling: inout Telling
  ) -> [ClientMachine.Action] {
    var actions: [ClientMachine.Action] = []
    while let reader = state.readers[subscription]?.first {
      let (taken, more) = state.machine.take(subscription)
      actions += more
      let result: Result<Item?, any Error>
      switch taken {
      case .nothing: return actions
      case .item(let item): result = .success(item)
      case .end(nil): result = .success(nil)
      case .end(let error?): result = .failure(error)
      }
      _ = reader.settle(result)
      state.readers[subscription]?.removeFirst()
      telling.append { reader.wake() }
    }
    state.readers[subscription] = nil
    return actions
  }

  // MARK: The thread

  /// Rings where the thread sleeps for something else than what is needed now.
  private func wakeThread(_ state: inout State) {
    guard state.isRunning, state.sleep != need(state) else { return }
    state.sleep = need(state)
    ring()
  }

  private func need(_ state: State) -> Sleep {
    Sleep(
      descriptor: state.socket.descriptor, hasUnsentBytes: state.socket.hasUnsentBytes,
      deadline: state.machine.nextDeadline, isOver: state.machine.isOver)
  }

  private func ring() {
    var one: UInt8 = 1
    // Where it takes no more, it has rung often enough.
    _ = send(bell, &one, 1, Int32(MSG_NOSIGNAL))
  }

  private func startThread(_ state: inout State) -> Bool {
    guard !state.isRunning else { return true }
    var thread = pthread_t()
    let loop = Unmanaged.passRetained(self)
    // Signals are for the program's own threads.
    var all = sigset_t()
    var before = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    let failure = pthread_create(
      &thread, nil,
      { loop in
        guard let loop else { return nil }
        Unmanaged<ClientLoop>.fromOpaque(loop).takeRetainedValue().run()
        return nil
      }, loop.toOpaque())
    guard failure == 0 else {
      loop.release()
      return false
    }
    pthread_detach(thread)
    state.isRunning = true
    return true
  }

  /// Waits for the daemon and for deadlines, until the client is closed.
  private func run() {
    while let sleep = prepare() {
      let events = wait(sleep)
      step { (state, now) in
        var actions = state.machine.tick(now: now)
        guard events != 0, state.socket.descriptor == sleep.descriptor else { return ((), actions) }
        if events & Int16(POLLOUT) != 0 { state.socket.flush() }
        if events & ~Int16(POLLOUT) != 0 { actions += read(&state, now) }
        return ((), actions)
      }
    }
  }

  /// What to wait for; nil when it is over.
  private func prepare() -> Sleep? {
    state.withLock { state in
      state.sleep = need(state)
      state.isRunning = !state.sleep.isOver
      return state.isRunning ? state.sleep : nil
    }
  }

  /// Returns what the socket is ready for.
  private func wait(_ sleep: Sleep) -> Int16 {
    let interest = Int16(POLLIN) | (sleep.hasUnsentBytes ? Int16(POLLOUT) : 0)
    var descriptors = [
      pollfd(fd: ear, events: Int16(POLLIN), revents: 0), pollfd(fd: sleep.descriptor, events: interest, revents: 0),
    ]
    var patience: Int32 = -1
    if let deadline = sleep.deadline {
      patience = Int32(min((deadline - .now).wholeMilliseconds, 3_600_000))
    }
    guard poll(&descriptors, 2, patience) > 0 else { return 0 }
    if descriptors[0].revents != 0 {
      var rings = [UInt8](repeating: 0, count: 256)
      _ = recv(ear, &rings, rings.count, 0)
    }
    return descriptors[1].revents
  }

  private func read(_ state: inout State, _ now: ContinuousClock.Instant) -> [ClientMachine.Action] {
    var actions: [ClientMachine.Action] = []
    let reading = state.socket.read()
    switch reading {
    case .lines(let lines), .closed(let lines), .overflow(let lines):
      for line in lines { actions += state.machine.received(line, now: now) }
    }
    switch reading {
    case .lines: break
    case .closed:
      state.socket.close()
      actions += state.machine.lost(now: now)
    case .overflow: actions += state.machine.overflowed(now: now)
    }
    return actions
  }
}
