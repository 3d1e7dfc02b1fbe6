/// `lines = { … }`: how the messages of a server read that speaks JSON lines, one object to each.
public struct LinesSettings: Hashable, Sendable {
  /// The member that says what a message is.
  public var type = "type"
  /// The member by which an answer finds its request.
  public var id = "id"
  /// The member that carries an event's argument; empty: the members of the message are the members of the argument.
  public var body = "body"
  /// The member whose presence makes an answer a failure.
  public var error = "error"
  public var end = LineEnd.lf
  /// The member that carries the server's time; nil for none.
  public var time: String?
  /// What a number in it counts.
  public var timeUnit = TimeUnit.milliseconds
  /// Whether credentials may travel without TLS to other hosts.
  public var readableLogin = false
  public var heartbeat = LinesHeartbeat()
  public var login = LinesLogin()
  public init() {}

  /// What ends the lines that are written; both are read.
  public enum LineEnd: String, CaseIterable, Sendable {
    case lf, crlf
  }
}

/// `lines.heartbeat = { … }`.
public struct LinesHeartbeat: Hashable, Sendable {
  /// What we write every now and then; nil: there is no heartbeat.
  public var type: String?
  /// What answers it, in both directions; nil: nothing does, both sides write unasked.
  public var answer: String?
  public var every: Duration = .seconds(25)
  /// After so many in a row without anything from the server it is gone.
  public var misses = 2
  public init() {}

  /// As a link keeps it; nil for none.
  var settings: HeartbeatSettings? {
    type == nil ? nil : HeartbeatSettings(interval: every, timeout: every * misses)
  }
}

/// `lines.login = { … }`.
public struct LinesLogin: Hashable, Sendable {
  /// What is written after connecting, with the credentials of `auth` as its body; nil: nobody logs in.
  public var type: String?
  /// What means yes; nil: the answer with the login's id that is no failure.
  public var accepted: String?
  /// What means no, beside an answer that is a failure.
  public var refused: String?
  public init() {}
}
