/// The answer to `rpc.discover`: an OpenRPC document, with JSON Schemas (draft 2020-12), made from a table of methods.
/// Decision 0124.
enum Discovery {
  /// Writes the members of the document, for a result of `LocalReply`. `version` is the daemon's.
  static func write(_ methods: [LocalMethod], version: String, into writer: inout JSONWriter) {
    writer.member("openrpc", "1.3.2")
    writer.key("info")
    writer.beginObject()
    writer.member("title", "gatewayd")
    writer.member("description", "JSON-RPC 2.0, one object per line, over a Unix-domain stream socket.")
    writer.member("version", version)
    writer.endObject()
    writer.member("x-jsonSchemaDialect", "https://json-schema.org/draft/2020-12/schema")
    list("methods", methods, into: &writer, writeMethod)
    list("x-notifications", NotificationTable.notifications, into: &writer, writeNotification)
    list("x-errors", LocalError.Kind.allCases, into: &writer, writeError)
  }

  private static func list<Item>(
    _ name: String, _ items: [Item], into writer: inout JSONWriter, _ write: (Item, inout JSONWriter) -> Void
  ) {
    writer.key(name)
    writer.beginArray()
    for item in items {
      writer.beginObject()
      write(item, &writer)
      writer.endObject()
    }
    writer.endArray()
  }

  private static func writeMethod(_ method: LocalMethod, into writer: inout JSONWriter) {
    writer.member("name", method.name)
    writer.member("summary", method.summary)
    writer.key("x-right")
    if let right = method.right { writer.string(right.rawValue) } else { writer.null() }
    writer.member("paramStructure", "by-name")
    list("params", method.parameters, into: &writer) { parameter, writer in
      writer.member("name", parameter.name.text)
      writer.member("summary", parameter.summary)
      writer.key("required")
      writer.bool(parameter.isRequired)
      writer.key("schema")
      JSONSchema(parameter.kind).write(into: &writer)
    }
    writer.key("result")
    writer.beginObject()
    writer.member("name", "result")
    writer.key("schema")
    method.result.write(into: &writer)
    writer.endObject()
  }

  private static func writeNotification(_ notification: NotificationTable.Row, into writer: inout JSONWriter) {
    writer.member("name", notification.name)
    writer.member("summary", notification.summary)
    writer.key("params")
    notification.parameters.write(into: &writer)
  }

  private static func writeError(_ kind: LocalError.Kind, into writer: inout JSONWriter) {
    writer.member("code", kind.code)
    writer.member("type", kind.rawValue)
    writer.member("message", kind.summary)
    writer.key("retry")
    if let retry = kind.retry { writer.bool(retry) } else { writer.null() }
  }
}

extension LocalError.Kind {
  /// What the error means, in one sentence.
  var summary: String {
    switch self {
    case .parseError: "The line is not valid JSON."
    case .invalidRequest: "The line is valid JSON, but no request object of this protocol."
    case .methodNotFound: "There is no such method."
    case .invalidParams: "The params do not fit the method, or what they say would make the server close the link."
    case .internalError: "The daemon failed in a way that it should not have."
    case .cancelled: "The call was ended by `rpc.cancel`."
    case .permissionDenied: "The caller lacks the right `need`."
    case .upstreamUnknown: "No upstream of that name is configured, or URLs are not allowed."
    case .upstreamDown: "The connection is down, and nothing was sent; `reason` and `detail` say why."
    case .queueFull: "The queue is at its `limit`; `retry_after` milliseconds may help."
    case .expired: "The time of the call or of the send ran out."
    case .ackTimeout: "The event was written, but not acknowledged in time; delivered or not is unknown."
    case .ackLost: "The link broke after the event was written; delivered or not is unknown."
    case .quotaExceeded: "The caller uses as much of `quota` as it may."
    case .unrecoverable: "What was asked for is no longer known; `oldest` and `epoch` say what is."
    case .draining: "The daemon takes no new work, because it is about to stop."
    case .conflict: "The call contradicts what is there already."
    case .payloadTooLarge: "The message has `size` bytes where `limit` are allowed."
    case .upstreamRefused: "The server refused the connection, in its own words."
    case .illegalState: "What was `asked` is not possible in this `state`."
    case .ackGone: "The ack token is unknown, or was answered before."
    case .requestFailed: "The server answered with an error of the application."
    }
  }
}
