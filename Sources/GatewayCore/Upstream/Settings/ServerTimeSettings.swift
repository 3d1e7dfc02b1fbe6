/// `server_time = { … }`: how the server's time is learnt.
struct ServerTimeSettings: Hashable, Sendable {
  /// The event by which the server tells its time unasked; nil for none.
  var event: String?
  /// The event that is sent to the server, whose acknowledgement tells its time; nil asks nothing.
  var request: String?
  /// The member of an argument under which the time stands, with dots between the members on the way; nil where the
  /// argument is the time.
  var member: String?
  /// What a number counts.
  var unit = TimeUnit.milliseconds
  /// How often the request is repeated.
  var every: Duration = .seconds(300)
  /// By how much the local clock must contradict a `Date` header before events follow that.
  var tolerance: Duration = .seconds(60)
  init() {}
}

/// `server_time.unit`: what a number since 1970 counts.
enum TimeUnit: String, CaseIterable, Sendable {
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
