/// How a fleet's Redis is reached, and how long what may take.
struct RedisSettings: Sendable {
  /// Its servers, each with TLS and limits of its own; the one that says it is the master counts.
  var servers: [DialRequest]
  /// Nil: the default user.
  var user: String?
  /// Read at each connect; nil says no login.
  var password: SecretSource?
  /// Replicas that must confirm what has to last; 0 asks none.
  var copies = 0
  /// How long they have for it.
  var copyLimit: Duration = .milliseconds(400)
  /// How long an answer may take. Longer than `copyLimit`.
  var answerLimit: Duration = .seconds(3)
  /// How long a round over all servers rests before the next: it doubles from the first to the second.
  var rest: ClosedRange<Duration> = .milliseconds(100)...(.seconds(1))
  /// After so long without a word the connection that waits is asked for a sign of life.
  var quietLimit: Duration = .seconds(5)
  /// Most entries of one stream that are read at once.
  var readLimit = 1_000

  init(servers: [DialRequest]) { self.servers = servers }
}
