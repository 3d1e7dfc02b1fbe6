/// `server_time = { … }`: how the server's time is learnt.
public struct ServerTimeSettings: Hashable, Sendable {
  /// The event by which the server tells its time unasked; nil for none.
  public var event: String?
  /// The event that is sent to the server, whose acknowledgement tells its time; nil asks nothing.
  public var request: String?
  /// The member of an argument under which the time stands, with dots between the members on the way; nil where the
  /// argument is the time.
  public var member: String?
  /// What a number counts.
  public var unit = TimeUnit.milliseconds
  /// How often the request is repeated.
  public var every: Duration = .seconds(300)
  /// By how much the local clock must contradict a `Date` header before events follow that.
  public var tolerance: Duration = .seconds(60)
  public init() {}
}

/// `server_time.unit`: what a number since 1970 counts.
public enum TimeUnit: String, CaseIterable, Sendable {
  case milliseconds = "ms"
  case seconds = "s"
  case microseconds = "us"

  var microseconds: Double {
    switch self {
    case .microseconds: 1
    case .milliseconds: 1_000
    case .seconds: 1_000_000
    }
  }
}

extension Setting<ServerTimeSettings> {
  /// `server_time = { … }`.
  static var declared: [Self] {
    [
      Setting(
        "event", \.event, SettingType<String>.eventName.optional,
        "Event by which the server tells its time by itself. It is delivered like any other."),
      Setting(
        "request", \.request, SettingType<String>.eventName.optional,
        "Event that is sent after each connect and then every so often; the server's acknowledgement tells its time."),
      Setting(
        "member", \.member, SettingType<String>.memberName.optional,
        "Member of an argument that is the time, such as `now` or `data.now`. Without it the argument itself is the time."
      ),
      Setting(
        "unit", \.unit, .choice,
        "What the time counts since 1970: milliseconds, seconds or microseconds. A text in ISO 8601 needs no unit."),
      Setting(
        "every", \.every, .duration(milliseconds: 1_000...86_400_000), "How often `request` is sent."),
      Setting(
        "tolerance", \.tolerance, .duration(milliseconds: 0...31_536_000_000),
        "Where nothing better is known, the `Date` header of the handshake overrules the local clock if that is out by more than this."
      ),
    ]
  }
}
