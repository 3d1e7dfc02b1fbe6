/// What becomes of the facts of a stream.
protocol EventConsumer: AnyObject {
  /// False while nothing more can be taken; then nothing is read from the daemon.
  var hasRoom: Bool { get }
  /// Everything wanted has come, and nothing is under way.
  var isFinished: Bool { get }
  /// Its data goes to standard output, so that nothing is left to do when nobody reads that any more.
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
