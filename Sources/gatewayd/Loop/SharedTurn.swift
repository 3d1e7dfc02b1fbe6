import GatewayCore

/// How long one source's input is acted upon: to the limit, or until somebody else is waiting. Asking costs a system call,
/// so it is asked after `firstStep` and then after every `nextStep`.
struct SharedTurn {
  /// What is shorter than this is not worth asking; nanoseconds.
  private static let firstStep: Int64 = 10_000
  /// Who was not interrupted by then is probably alone; nanoseconds.
  private static let nextStep: Int64 = 20_000

  private let end: Int64
  private var look: Int64

  /// Without a limit it ends only when somebody else is waiting.
  init(at now: MonotonicInstant, limit: Duration? = nil) {
    end = limit.map { (now + $0).nanoseconds } ?? .max
    look = now.nanoseconds &+ Self.firstStep
  }

  /// To be asked after each piece of work.
  mutating func isOver(at now: MonotonicInstant, _ isAnyoneWaiting: () -> Bool) -> Bool {
    let now = now.nanoseconds
    if now >= end { return true }
    guard now >= look else { return false }
    look = now &+ Self.nextStep
    return isAnyoneWaiting()
  }
}
