/// Events that were missed.
struct ReceivedGap: Equatable, Sendable {
  var epoch: String?
  var range: ClosedRange<UInt64>?
  var count: UInt64?
  var reason: String
  /// What the daemon adds in a sentence.
  var detail: String?
  /// Where `epoch` begins: the number of the last event before it.
  var start: UInt64?

  /// From the `params` of a `gap` notification.
  init(_ params: RawMembers) {
    epoch = params.string("epoch")
    count = params.integer("count").flatMap { UInt64($0) }
    reason = params.string("reason") ?? "unknown"
    detail = params.string("detail")
    start = params.integer("seq").flatMap { UInt64($0) }
    guard let from = params.integer("from").flatMap({ UInt64($0) }),
      let to = params.integer("to").flatMap({ UInt64($0) }),
      from <= to
    else { return }
    range = from...to
  }

  init(reason: String) { self.reason = reason }

  /// What was missed and why, as a clause.
  var description: String {
    let what =
      switch (count, range) {
      case (let count?, let range?):
        "\(count) event\(count == 1 ? "" : "s") missed, \(range.lowerBound) to \(range.upperBound)"
      case (nil, let range?): "events missed, \(range.lowerBound) to \(range.upperBound)"
      case (let count?, nil): "\(count) event\(count == 1 ? "" : "s") missed"
      case (nil, nil): "events may have been missed"
      }
    return "\(what): \(detail ?? cause)"
  }

  private var cause: String {
    switch reason {
    case "slow_consumer": "they were not read fast enough"
    case "upstream": "the connection to the server was interrupted"
    case "too_large": "larger than the daemon's line limit"
    case "undecodable": "the server sent something that is no event"
    case "expired": "the daemon no longer remembers them"
    case "restart": "the daemon was restarted"
    default: reason
    }
  }
}
