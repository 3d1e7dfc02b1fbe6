/// What the daemon may tell a local client unasked, for `rpc.discover`.
enum NotificationTable {
  struct Row: Equatable, Sendable {
    var name: String
    /// One sentence for a person.
    var summary: String
    var parameters: JSONSchema
  }

  static let notifications: [Row] = [
    Row(
      name: "event", summary: "An event of the upstream.",
      parameters: .object([
        .always("subscription", .text),
        .always("seq", .count, "Counts the events of one connection; never repeats within an epoch."),
        .always("time", .count, "When it arrived, in milliseconds since 1970."),
        .always("event", .text), .always("args", .list(.any)),
        .sometimes("kwargs", .object([]), "Keyword arguments, where the upstream has such."),
        .sometimes("ack", .text, "The server wants an answer: the token for `respond`."),
      ])),
    Row(
      name: "state", summary: "A transition of the connection, for subscriptions with `state: true`.",
      parameters: .object([
        .always("subscription", .text), .always("state", ResultSchemas.connectionState), .always("epoch", .text),
        .sometimes("attempt", .count, "How many attempts were made since the connection was lost."),
        .sometimes("in", .count, "Milliseconds until the next attempt."),
        .sometimes("reason", ResultSchemas.reason), .sometimes("detail", .text),
        .sometimes("status", .count, "HTTP status or WebSocket close code."),
        .sometimes("recovered", .boolean, "The server goes on where the link was lost: nothing was missed."),
      ])),
    Row(
      name: "gap", summary: "Events are missing at this place.",
      parameters: .object([
        .always("subscription", .text), .always("epoch", .text),
        .sometimes("from", .count, "The first missing number."), .sometimes("to", .count, "The last missing number."),
        .sometimes("count", .count, "How many of them this subscription would have received."),
        .sometimes("seq", .count, "Where an epoch begins: the number of the last event before it."),
        .always("reason", .choice(GapReason.allCases.map(\.rawValue))),
        .sometimes("detail", .text, "Why, where there is more to say than the reason."),
      ])),
    Row(
      name: "trace", summary: "What went over a connection that is traced.",
      parameters: .object([
        .always("trace", .text), .always("time", .count, "In milliseconds since 1970."),
        .sometimes("direction", .choice(TraceFact.Direction.allCases.map(\.rawValue))),
        .sometimes("layer", .text, "`http`, or a layer of the upstream's kind."),
        .always("text", .text, "One packet in words, or what happened to the link."),
        .sometimes("payload", .text, "The packet's payload, secrets replaced, cut after 16 KiB."),
        .sometimes("dropped", .count, "So many packets were not told before, because the client did not read."),
      ])),
    Row(
      name: "progress", summary: "A step of a call that is not answered yet.",
      parameters: .object([
        .always("id", .any, "The call's id."),
        .always("args", .list(.any), "For `doctor` one finding, for `request` a part of the answer."),
        .sometimes("kwargs", .object([]), "For `request`: keyword arguments, where the upstream has such."),
      ])),
    Row(
      name: "goodbye", summary: "The daemon is about to close the socket.",
      parameters: .object([
        .always("reason", .text), .sometimes("reconnect_in", .count, "Milliseconds after which to come back."),
      ])),
  ]
}
