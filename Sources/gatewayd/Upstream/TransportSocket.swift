import GatewayCore

/// The bytes of one transport: a connection that libcurl makes, its place in the loop, and the output that waits for
/// it. What the bytes mean is its owner's affair. Decision 0072.
final class TransportSocket {
  /// Hears what happens; nothing any more after `close()`.
  protocol Owner: AnyObject {
    /// The connection carries bytes from now on.
    func socketOpened()
    /// The connection could not be made.
    func socketRefused(_ failure: TransportFailure)
    /// The open connection can be read or written, to be passed on to `ready`: so that the owner, which holds the
    /// socket, is all that has to be held.
    func socketReady(_ readiness: EventLoop.Readiness)
    /// Bytes arrived; they are valid during the call. Returns how many of them come again, behind the others that are
    /// waiting, which may be none where the owner has more to do; nil, unless `mustPause()` said so, where it has not.
    func socketReceived(_ bytes: UnsafeRawBufferPointer) -> Int?
    /// All output was taken by the kernel.
    func socketDrained()
    /// Nothing more is read: the peer has hung up, or the connection was lost, or a goodbye took too long.
    func socketEnded(_ failure: UpstreamFailure?)
  }

  /// Most bytes written before others have their turn.
  private static let writeTurnLimit = SendQueue.blockSize
  /// Messages after which an owner asks whether the next ones have to wait: the clock is looked at for it. One that
  /// took long is the last of them.
  static let pauseStep = 8
  /// How long a turn lasts at most, in nanoseconds as in `TimeSlice`: what is read together leaves together, and is so
  /// much only where it is unusually much work.
  private static let turnTimeLimit: Int64 = 2_000_000
  /// The same where thousands of writes follow, which cost more than that.
  private static let longTurnLimit: Int64 = 8_000_000
  /// What a turn lasts at least for each of the writes that follow it, one for each client that got something, so that it is
  /// worth them. In nanoseconds, too.
  private static let writeCost: Int64 = 1_000

  /// For what does not keep it.
  private let reference = LightReference<TransportSocket>()
  private let context: TransportContext
  private let request: DialRequest
  /// Most bytes read before others have their turn.
  private let turnLimit: Int
  /// A read of less than this many bytes is taken as the last one: the system call that would say so costs more than an
  /// event. Where more comes, more has come meanwhile, and what is read together leaves together.
  private static let trickle = 4_096
  /// It alone has the socket; nil after `close()`.
  private unowned var owner: (any Owner)?
  private var connection: CurlConnection?
  private var source: EventLoop.IOSource?
  private var timer: Timers.ID?
  private var flushIsDue = false
  private var readIsDue = false
  /// How long what was received has been acted upon; nil before it was first asked.
  private var turn: TimeSlice?
  /// A message that has begun and not ended, since when, and the timer that looks after it.
  private var unfinished: (message: Int, since: MonotonicInstant)?
  private var unfinishedTimer: Timers.ID?
  /// What was received and has to wait.
  private var pendingInput: PendingInput?
  /// Made once, because they are handed over in nearly every turn.
  private lazy var flushing: () -> Void = { [reference] in reference.object?.flush() }
  private lazy var reading: () -> Void = { [reference] in reference.object?.readNow() }
  private lazy var readingOn: () -> Void = { [reference] in reference.object?.readNow(hasWaited: true) }
  /// Whether the peer is read no further for now.
  private var isReadingHeld: Bool { heldSince != nil }
  /// Since when.
  private var heldSince: MonotonicInstant?
  /// Nothing is written from then on; nil for a link that belongs to this host alone.
  private var writeLimit: MonotonicInstant?
  /// Why writing failed; only what the peer said before is still read.
  private var broken: CurlProblem?

  /// What waits to be written. The owner appends, and calls `flush()` or `flushSoon()`.
  let output: SendQueue
  /// Whether the kernel took less than there was.
  private(set) var isCongested = false
  /// What messages took that took long, to be asked after each of them.
  var work: MatchingCost { context.work }
  /// Whether writing has not failed yet, and is still allowed.
  var isWritable: Bool { broken == nil && !isPastLimit }

  /// - Parameter carriesSends: what is written counts of the memory for sends.
  init(on context: TransportContext, to request: DialRequest, turnLimit: Int, carriesSends: Bool = true) {
    self.context = context
    self.request = request
    self.turnLimit = turnLimit
    output = SendQueue(
      pool: context.blocks, controlLimit: request.answerLimit,
      memory: carriesSends ? MemoryHold(context.memory.send, for: request.account) : nil)
    reference.begin(self)
  }

  deinit {
    reference.end()
    context.loop.timers.cancel(timer)
    context.loop.timers.cancel(unfinishedTimer)
    // Before the connection closes the descriptor.
    source = nil
    // Whoever waits for how far it comes is told that it comes no further.
    output.removeAll()
  }

  /// Starts to connect; the owner is not called back from here.
  func connect(for owner: any Owner) {
    self.owner = owner
    do {
      connection = try CurlConnection(context.multi, to: request) { [reference] problem in
        reference.object?.made(problem)
      }
    } catch {
      context.loop.onNextTurn { [reference] in reference.object?.made(error) }
    }
  }

  /// What waits, and with a limit for writing also what the far end has not acknowledged.
  var unsentBytes: Int {
    guard writeLimit != nil else { return output.byteCount }
    return output.byteCount + (connection?.unacknowledgedBytes ?? 0)
  }

  private func made(_ problem: CurlProblem?) {
    guard let owner else { return }
    if let problem {
      return owner.socketRefused(TransportFailure(problem.failure(dialing: request), isBeforeHTTP: true))
    }
    guard let connection else { return }
    do {
      limitKernel()
      source = try context.loop.addIO(connection.descriptor, input) { [unowned owner] in owner.socketReady($0) }
    } catch {
      return owner.socketRefused(TransportFailure(UpstreamFailure(.unreachable, error.description)))
    }
    owner.socketOpened()
  }

  /// What is known of the open connection, for the transport of this name.
  func facts(_ name: String) -> TransportFacts {
    TransportFacts(
      name: name, tlsVersion: connection?.tlsVersion, verified: !request.secure || request.tls.verify,
      address: connection?.address, proxy: connection?.proxy)
  }

  /// Lets go of everything; the socket is closed here.
  func close() {
    owner = nil
    context.loop.timers.cancel(timer)
    timer = nil
    context.loop.timers.cancel(unfinishedTimer)
    unfinishedTimer = nil
    source = nil
    // What the kernel has would leave when it may not.
    if isPastLimit { connection?.reset() }
    connection = nil
    pendingInput = nil
    output.removeAll()
    context.closeEnded(self)
  }

  /// Keeps the owner alive until `close()`, and tells it of the end when the goodbye takes too long.
  func beginClosing() {
    guard let owner else { return }
    // The peer's answer is read.
    holdReading(false)
    context.closeBegan(self, of: owner)
    guard timer == nil else { return }
    timer = context.loop.timers.after(context.closeLimit) { [reference] in reference.object?.owner?.socketEnded(nil) }
  }

  // MARK: - Reading

  /// Writes or reads, by what the descriptor is ready for.
  func ready(_ readiness: EventLoop.Readiness, for owner: any Owner) {
    if readiness.contains(.writable) { flush() }
    // It is told again and again, until it is read.
    if !readiness.isDisjoint(with: [.hungUp, .failed]) { holdReading(false) }
    // A socket that is paused goes on behind the others.
    if readiness != .writable, !readIsDue { read(for: owner) }
  }

  /// Reads nothing more, or reads on.
  func holdReading(_ isHeld: Bool) {
    guard isHeld != isReadingHeld, !isHeld || broken == nil else { return }
    let now = context.loop.time.now
    // A message does not end where it is not read.
    if let heldSince, let since = unfinished?.since { unfinished?.since = since + (now - max(heldSince, since)) }
    heldSince = isHeld ? now : nil
    if !isHeld, unfinished != nil, unfinishedTimer == nil { lookAfterUnfinished(in: Timers.lateness) }
    guard let source else { return }
    if isHeld {
      source.interest.subtract(.readable)
    } else {
      source.interest.insert(.readable)
      readSoon()
    }
  }

  /// What the descriptor is watched for besides room.
  private var input: EventLoop.Readiness { isReadingHeld ? [] : .readable }

  /// What is there already: libcurl knows the version of TLS only once something was read or written. An end that is
  /// found instead is told in the next turn; why it came would not be said a second time.
  func firstBytes() -> [UInt8] {
    guard let connection else { return [] }
    switch connection.receive(into: context.readBuffer) {
    case .bytes(let count): return [UInt8](context.readBuffer[..<count])
    case .wait: return []
    case .ended: endSoon(nil)
    case .failed(let problem): endSoon(problem.failure(dialing: request))
    }
    return []
  }

  private func endSoon(_ failure: UpstreamFailure?) {
    context.loop.onNextTurn { [reference] in reference.object?.owner?.socketEnded(failure) }
  }

  /// Reads what is there, of which the kernel does not tell any more.
  private func readSoon() {
    guard !readIsDue else { return }
    readIsDue = true
    context.loop.onNextTurn(reading)
  }

  private func readAfterOthers() {
    guard !readIsDue, let source else { return }
    readIsDue = true
    context.loop.afterOthers(source, reading)
  }

  /// `hasWaited`: for everything to be written.
  private func readNow(hasWaited: Bool = false) {
    readIsDue = false
    if let owner { read(for: owner, hasWaited: hasWaited) }
  }

  /// What was read before, here or of others, is still being written, to so many that it takes several turns.
  private func readAfterWrites() {
    guard !readIsDue, let source else { return }
    readIsDue = true
    context.loop.afterWrites(source, readingOn)
  }

  /// Reads until nothing is left, or until others are due.
  func read() {
    if let owner { read(for: owner) }
  }

  private func read(for owner: any Owner, hasWaited: Bool = false) {
    guard !isReadingHeld else { return }
    if context.loop.holdsReads, !hasWaited { return readAfterWrites() }
    turn = nil
    if let pendingInput, !hear(pendingInput, for: owner) { return }
    var budget = turnLimit
    while budget > 0, !isReadingHeld, let connection {
      switch connection.receive(into: context.readBuffer) {
      case .bytes(let count):
        budget -= count
        let untaken = owner.socketReceived(UnsafeRawBufferPointer(rebasing: context.readBuffer[..<count]))
        guard self.connection != nil else { return }
        if let untaken {
          return pause(UnsafeRawBufferPointer(rebasing: context.readBuffer[(count - untaken)..<count]))
        }
        // The kernel had no more, and will tell of what comes. TLS may hold more, of which the kernel knows nothing.
        if count < Self.trickle, connection.isBare, broken == nil { return }
        // With TLS a read may bring a single message.
        if mustPause() { return readAfterOthers() }
      case .wait:
        if broken != nil { endBroken() }
        return
      case .ended: return owner.socketEnded(nil)
      case .failed(let problem): return owner.socketEnded(problem.failure(dialing: request))
      }
    }
    // What OpenSSL has decrypted already would not wake the loop, nor would what was there before a write failed.
    if let connection, !connection.isBare || broken != nil { readAfterOthers() }
  }

  /// Whether the messages that are left of what was received have to wait, because others do. To be asked after each
  /// `pauseStep` of them.
  func mustPause() -> Bool {
    let loop = context.loop
    context.work.begin()
    var turn = turn ?? TimeSlice(at: loop.time.arrival.instant, nanoseconds: timeLimit)
    defer { self.turn = turn }
    return turn.isOver(
      at: loop.time.now, least: leastTime,
      { loop.isAnyoneReady(otherThan: source) })
  }

  /// For the turn that has begun, by the writes that it has led to so far.
  private var leastTime: Int64 { min(Self.writeCost &* Int64(context.loop.writesDue()), Self.longTurnLimit) }
  private var timeLimit: Int64 { max(Self.turnTimeLimit, leastTime) }

  /// To be told after each read which message has begun and not ended. One that does not end in time ends the
  /// connection.
  @inline(__always)
  func watch(unfinished message: Int?) {
    if let message { note(unfinished: message) } else if unfinished != nil { unfinished = nil }
  }

  private func note(unfinished message: Int) {
    guard unfinished?.message != message else { return }
    unfinished = (message, context.loop.time.arrival.instant)
    if unfinishedTimer == nil { lookAfterUnfinished(in: request.messageTimeLimit) }
  }

  /// A timer that finds another message waits for the rest of its time, so that a busy link needs none for each of
  /// them.
  private func lookAfterUnfinished(in delay: Duration) {
    unfinishedTimer = context.loop.timers.after(delay) { [reference] in reference.object?.lookAfterUnfinished() }
  }

  private func lookAfterUnfinished() {
    unfinishedTimer = nil
    // It goes on when the message is read again.
    guard !isReadingHeld, var unfinished else { return }
    let now = context.loop.time.now
    // Nor while the machine sleeps.
    if now - unfinished.since > request.messageTimeLimit + Timers.lateness {
      unfinished.since = now + (Timers.lateness - request.messageTimeLimit)
    }
    self.unfinished = unfinished
    let left = unfinished.since + request.messageTimeLimit - now
    guard left <= .zero else { return lookAfterUnfinished(in: left) }
    owner?.socketEnded(.unfinishedMessage(after: request.messageTimeLimit))
  }

  /// Acts upon bytes that were received before, and then reads on, in the next turn.
  func hear(_ bytes: [UInt8]) {
    guard connection != nil else { return }
    pendingInput = bytes.isEmpty ? nil : PendingInput(bytes)
    readSoon()
  }

  private func pause(_ rest: UnsafeRawBufferPointer) {
    pendingInput = PendingInput(Array(rest))
    readAfterOthers()
  }

  /// What had to wait comes first. False if others are due again.
  private func hear(_ bytes: PendingInput, for owner: any Owner) -> Bool {
    // The owner may close the socket meanwhile.
    let untaken = bytes.withRest(owner.socketReceived)
    guard connection != nil else { return false }
    if let untaken { pendingInput?.keepLast(untaken) } else { pendingInput = nil }
    guard untaken != nil || turn?.hasEnded == true else { return true }
    readAfterOthers()
    return false
  }

  // MARK: - Writing

  /// Flushes at the beginning of the next turn, so that messages of one turn leave together.
  func flushSoon() {
    guard !flushIsDue else { return }
    flushIsDue = true
    context.loop.onNextTurn(flushing)
  }

  /// Nothing reaches the kernel from that instant on, until another one is set.
  func mayWrite(until limit: MonotonicInstant) {
    writeLimit = limit
    limitKernel()
    if !output.isEmpty, connection != nil { flushSoon() }
  }

  private var isPastLimit: Bool { writeLimit.map { context.loop.time.now >= $0 } ?? false }

  /// The kernel gives up soon after then what it cannot deliver, also while this process stands still.
  private func limitKernel() {
    if let writeLimit { connection?.limitKernel(to: writeLimit, at: context.loop.time.now) }
  }

  /// What waits, waits for another limit. A goodbye does not.
  private func stopAtLimit() {
    isCongested = true
    source?.interest = input
    if timer != nil { endSoon(nil) }
  }

  /// Writes until nothing is left, or the kernel takes no more, or others are due.
  func flush() {
    flushIsDue = false
    guard broken == nil else { return }
    if let writeLimit, !output.isEmpty { connection?.tightenKernelLimit(to: writeLimit, at: context.loop.time.now) }
    var budget = Self.writeTurnLimit
    var isBlocked = false
    while !isBlocked, budget > 0, let connection, let front = output.front {
      if isPastLimit { return stopAtLimit() }
      switch connection.send(front) {
      case .bytes(let count):
        output.consume(count)
        budget -= count
      case .wait, .ended: isBlocked = true
      case .failed(let problem): return writingFailed(problem)
      }
    }
    isCongested = isBlocked
    source?.interest = output.isEmpty ? input : input.union(.writable)
    if output.isEmpty { owner?.socketDrained() }
  }

  /// The peer's last words may still be unread, and say more than the failed write. They are read in turns like
  /// anything else, to the end of what the kernel holds; a peer that goes on has as long as a goodbye.
  private func writingFailed(_ problem: CurlProblem) {
    broken = problem
    isCongested = true
    heldSince = nil
    source?.interest = .readable
    if timer == nil {
      timer = context.loop.timers.after(context.closeLimit) { [reference] in reference.object?.endBroken() }
    }
    readSoon()
  }

  private func endBroken() { owner?.socketEnded(broken?.failure(dialing: request)) }
}
