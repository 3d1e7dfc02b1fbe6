import GatewayCore
import Glibc

/// How long the loop has been busy with one thing at most: what one source had, one timer's call, or work that was put
/// off, with the writes that followed. All others wait meanwhile.
///
/// By the wall clock it is the time that the others waited: for a slow disk and for a processor that other programs
/// use, too. By the thread's own processor time, which costs a system call each time, it is what the daemon itself had
/// to do.
struct TurnMeter {
  /// What is measured.
  enum Clock {
    /// Time that passed, without that in which the machine slept.
    case wall
    /// Processor time of the loop's thread.
    case processor
  }

  private let clock: Clock
  /// When the present turn began, in nanoseconds; nil while the loop sleeps.
  private var start: Int64?
  /// How long the machine has slept since it was started, as far as is known.
  private var asleep: Int64
  /// The longest turn, in nanoseconds.
  private(set) var longest: Int64 = 0
  /// How long each turn was.
  private(set) var turns = DurationHistogram()

  init(_ clock: Clock) {
    self.clock = clock
    asleep = SystemTime.asleep
  }

  /// One turn is over and the next one begins. `now` is the monotonic clock.
  mutating func next(at now: MonotonicInstant) {
    let now = reading(now)
    if let start { note(now &- start) }
    start = now
  }

  /// The loop goes to sleep.
  mutating func rest(at now: MonotonicInstant) {
    if let start { note(reading(now) &- start) }
    start = nil
  }

  private func reading(_ now: MonotonicInstant) -> Int64 {
    clock == .wall ? now.nanoseconds : Self.processorTime
  }

  @inline(never)
  private static var processorTime: Int64 { SystemTime.read(CLOCK_THREAD_CPUTIME_ID) }

  private mutating func note(_ turn: Int64) {
    if turn > longest { noteLongest(turn) } else { turns.add(turn) }
  }

  @inline(never)
  private mutating func noteLongest(_ turn: Int64) {
    // A machine that slept in the middle of a turn has made it seem longer than it was.
    let slept = clock == .wall ? SystemTime.asleep - asleep : 0
    asleep += slept
    turns.add(turn - slept)
    longest = max(longest, turn - slept)
  }
}
