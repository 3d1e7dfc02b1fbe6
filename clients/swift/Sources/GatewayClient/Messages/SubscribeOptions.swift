/// What a subscription wants.
struct SubscribeOptions: Sendable, Equatable {
  var target: Target
  var events: [String]?
  var since: Position?
  var last: Int?
  var isStrict = false
  var wantsAnswers = false
  var wantsGaps = false
  var wantsStates = false
  /// How many events may be here that the program has not taken; nil: any number.
  var window: Int?
  var queue: Int?
  var onSlow: SlowPolicy?
  /// What is said to the server at every connect, and what undoes that, as the text of JSON arrays.
  var enter: [UInt8]?
  var leave: [UInt8]?

  /// What stays the same when the subscription is made again.
  func params(id: String) -> Params {
    var params = target.params
    params["subscription"] = .string(id)
    params["events"] = events.map { .array($0.map { .string($0) }) }
    params["state"] = wantsStates ? true : nil
    params["answer"] = wantsAnswers ? true : nil
    params["queue"] = queue.map { .number(JSONNumber($0)) }
    params["on_slow"] = onSlow.map { .string($0.rawValue) }
    params.add("enter", enter)
    params.add("leave", leave)
    return params
  }
}

/// What the daemon does when more events wait for a program than its `queue` holds.
public struct SlowPolicy: RawRepresentable, Sendable, Hashable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  public static let dropOldest = SlowPolicy(rawValue: "drop_oldest")
  /// What waits stays, newer ones are dropped.
  public static let pause = SlowPolicy(rawValue: "pause")
  public static let disconnect = SlowPolicy(rawValue: "disconnect")
}
