/// `lines = { … }`: how the messages of a server read that speaks JSON lines, one object to each.
struct LinesSettings: Hashable, Sendable {
  /// The member that says what a message is.
  var type = "type"
  /// The member by which an answer finds its request.
  var id = "id"
  /// The member that carries an event's argument; empty: the members of the message are the members of the argument.
  var body = "body"
  /// The member whose presence makes an answer a failure.
  var error = "error"
  var end = LineEnd.lf
  /// The member that carries the server's time; nil for none.
  var time: String?
  /// What a number in it counts.
  var timeUnit = TimeUnit.milliseconds
  /// Whether credentials may travel without TLS to other hosts.
  var readableLogin = false
  var heartbeat = LinesHeartbeat()
  var login = LinesLogin()
  init() {}

  /// What ends the lines that are written; both are read.
  enum LineEnd: String, CaseIterable, Sendable {
    case lf, crlf
  }
}

/// `lines.heartbeat = { … }`.
struct LinesHeartbeat: Hashable, Sendable {
  /// What we write every now and then; nil: there is no heartbeat.
  var type: String?
  /// What answers it, in both directions; nil: nothing does, both sides write unasked.
  public var answer: String?
  var every: Duration = .seconds(25)
  /// After so many in a row without anything from the server it is gone.
  var misses = 2
  init() {}

  /// As a link keeps it; nil for none.
  var settings: HeartbeatSettings? {
    type == nil ? nil : HeartbeatSettings(interval: every, timeout: every * misses)
  }
}

/// `lines.login = { … }`.
struct LinesLogin: Hashable, Sendable {
  /// What is written after connecting, with the credentials of `auth` as its body; nil: there is no login.
  var type: String?
  /// What means yes; nil: the answer with the login's id that is no failure.
  var accepted: String?
  /// What means no, beside an answer that is a failure.
  var refused: String?
  init() {}
}
