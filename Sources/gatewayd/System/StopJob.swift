import CSystemdBus
import GatewayCore
import Glibc

/// Why the service manager stops this daemon: for good, or because another one follows at once and can take the clients
/// over. Decisions 0115 and 0118.
final class StopJob {
  /// What the job of a unit is called that stops it and starts it again.
  private static let restart = "restart"
  /// How long the question may take; then it is a stop.
  private static let patience: Duration = .milliseconds(500)
  /// For tests, which have no service manager: what the job is.
  private static let variable = "GATEWAYD_STOP_JOB"

  private let timers: Timers
  private let work: WorkBesideLoop
  private let isUser: Bool
  private let environment: (String) -> String?

  init(on loop: EventLoop, isUser: Bool, environment: @escaping (String) -> String?) {
    timers = loop.timers
    work = WorkBesideLoop(loop)
    self.isUser = isUser
    self.environment = environment
  }

  /// Filled in by the thread that asks; the loop looks at it afterwards.
  private final class Answer {
    var facts = (job: "", room: 0)
    /// Only the loop's.
    var isGiven = false
  }

  /// Calls back once whether another daemon follows that is passed what is left in the fd store. Without an answer none
  /// does.
  func askWhetherAnotherFollows(_ done: @escaping (Bool) -> Void) {
    guard environment("NOTIFY_SOCKET") != nil else { return done(false) }
    if let told = environment(Self.variable) { return done(told == Self.restart) }
    let (answer, isUser) = (Answer(), isUser)
    let finish = { (follows: Bool) in
      guard !answer.isGiven else { return }
      answer.isGiven = true
      done(follows)
    }
    let deadline = timers.after(Self.patience) { finish(false) }
    // The bus may never answer: the loop does not wait for it.
    work.perform({ answer.facts = Self.ask(isUser: isUser) }) { [timers] in
      timers.cancel(deadline)
      finish(answer.facts.job == Self.restart && answer.facts.room >= HandoverParcel.Part.allCases.count)
    }
  }

  /// The present job of this daemon's unit, and how many descriptors its store may hold.
  private static func ask(isUser: Bool) -> (job: String, room: Int) {
    var facts = gw_unit_facts()
    guard gw_ask_unit_facts(isUser ? 1 : 0, UInt64(patience.milliseconds * 1_000), &facts) >= 0 else { return ("", 0) }
    let job = withUnsafeBytes(of: &facts.job) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    return (job, Int(facts.store))
  }
}
