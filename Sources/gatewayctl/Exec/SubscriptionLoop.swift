import Glibc

/// Waits for the daemon, for commands and for the end of time, and hands everything on.
final class SubscriptionLoop {
  private let context: Context
  private let stream: LiveSubscription
  private let consumer: any EventConsumer
  private let end: Deadline
  private let gapPolicy: GapPolicy
  /// Prints states and gaps too; nil where only events are asked for.
  private let statePrinter: EventPrinter?
  private let recorder: EventRecorder?
  private var outages = UpstreamOutages()
  /// -1 where standard output was closed from the beginning.
  private let outputDescriptor = fcntl(STDOUT_FILENO, F_GETFD) < 0 ? -1 : STDOUT_FILENO

  init(
    _ context: Context, stream: LiveSubscription, consumer: any EventConsumer, end: Deadline = .never,
    gapPolicy: GapPolicy = .warn, statePrinter: EventPrinter? = nil, recorder: EventRecorder? = nil
  ) {
    self.context = context
    self.stream = stream
    self.consumer = consumer
    self.end = end
    self.gapPolicy = gapPolicy
    self.statePrinter = statePrinter
    self.recorder = recorder
  }

  /// Returns whether the consumer has finished; otherwise the time was up.
  func run() throws(Failure) -> Bool {
    try Signals.watchChildren()
    do throws(Failure) { return try runToEnd() } catch {
      // What was received before the failure is recorded all the same.
      try? recorder?.flush()
      // A command that was started for an event is no loose end, whatever else has ended.
      while !consumer.isIdle { try waitForCommands() }
      throw error
    }
  }

  private func runToEnd() throws(Failure) -> Bool {
    while true {
      if !end.hasPassed {
        while consumer.hasRoom, let fact = try stream.next() { try take(fact) }
        if consumer.hasRoom { try stream.advance() }
      }
      try recorder?.flush()
      try context.output.flushOrEnd()
      if consumer.isFinished { return true }
      if end.hasPassed, consumer.isIdle { break }
      try wait()
    }
    if let unreachable = stream.unreachable { throw unreachable }
    return false
  }

  private func take(_ fact: LiveSubscription.Fact) throws(Failure) {
    switch fact {
    case .event(let event):
      try recorder?.record(event)
      try consumer.take(event)
    case .state(let state): try show(state)
    case .answer(let call, let error): consumer.answered(call: call, error)
    case .gap(let gap):
      try statePrinter?.print(gap: gap)
      guard gapPolicy == .fail else { return context.diagnostics.error("gap: \(gap.description)") }
      try context.output.flush()
      throw Failure(.dataLost, "gap: \(gap.description); --on-gap warn would go on")
    }
  }

  private func show(_ state: [UInt8]) throws(Failure) {
    if let statePrinter { return try statePrinter.print(state: state) }
    guard let members = RawJSONObject(state), let outage = outages.note(members, of: context.target) else {
      return
    }
    let isWarning = context.settings.isWatched || outage.isNew
    if isWarning { context.diagnostics.notice(outage.text) } else { context.diagnostics.detail(outage.text) }
  }

  private func wait() throws(Failure) {
    let client = context.client
    let takesMore = consumer.hasRoom && !end.hasPassed
    let interest = takesMore ? client.interest : client.hasUnsentBytes ? Int16(POLLOUT) : 0
    var entries = [
      pollfd(fd: Signals.childPipe, events: Int16(POLLIN), revents: 0),
      // A pipe without a reader shows as an error even while nothing is written to it.
      pollfd(fd: consumer.prints ? outputDescriptor : -1, events: 0, revents: 0),
      pollfd(fd: interest == 0 ? -1 : client.descriptor, events: interest, revents: 0),
    ]
    entries += consumer.commands.flatMap(\.pollEntries)
    guard poll(&entries, nfds_t(entries.count), timeout(takesMore)) > 0 else { return }
    if entries[0].revents != 0 { Signals.drainChildPipe() }
    if entries[1].revents != 0 { throw .outputClosed }
    if entries[2].revents != 0 {
      if takesMore { try client.transfer() } else { client.write() }
    }
    try settleCommands()
  }

  private func waitForCommands() throws(Failure) {
    var entries = [pollfd(fd: Signals.childPipe, events: Int16(POLLIN), revents: 0)]
    entries += consumer.commands.flatMap(\.pollEntries)
    guard poll(&entries, nfds_t(entries.count), -1) > 0 else { return }
    if entries[0].revents != 0 { Signals.drainChildPipe() }
    try settleCommands()
  }

  private func settleCommands() throws(Failure) {
    for command in consumer.commands {
      command.transfer()
      if command.ending != nil { try consumer.settle(command) }
    }
  }

  private func timeout(_ takesMore: Bool) -> Int32 {
    if end.hasPassed { return -1 }
    return (takesMore ? Deadline.earlier(end, stream.wakeUp) : end).pollTimeout
  }
}

/// What becomes of the facts of a stream.
protocol EventConsumer: AnyObject {
  /// False while nothing more can be taken; then nothing is read from the daemon.
  var hasRoom: Bool { get }
  /// Everything wanted has come, and nothing is under way.
  var isFinished: Bool { get }
  /// Its data goes to standard output, so that nothing is left to do when its reader is gone.
  var prints: Bool { get }
  /// Events taken so far.
  var taken: Int { get }
  /// Nothing is under way.
  var isIdle: Bool { get }
  /// The commands that run.
  var commands: [RunningCommand] { get }

  func take(_ event: ReceivedEvent) throws(Failure)
  /// A command of `commands` has ended.
  func settle(_ command: RunningCommand) throws(Failure)
  /// A call that the consumer posted was answered; nil: it was done.
  func answered(call: Int, _ error: DaemonError?)
}
