import GatewayCore

/// `status`, `connections` and `clients`.
enum StatusCommand {
  static func status(_ context: Context) throws(Failure) -> ExitCode {
    let named = !context.arguments.operands.isEmpty
    let result = try context.client.call("status", until: context.deadline) { writer in
      if named { context.target.write(into: &writer) }
    }
    guard context.settings.isReadable else {
      try context.printJSON(result)
      return .done
    }
    let view = try view(result, context)
    context.output.text(named ? view.connections(of: context.target.name) : view.everything())
    return .done
  }

  static func connections(_ context: Context) throws(Failure) -> ExitCode {
    let result = try context.client.call("status", until: context.deadline)
    guard !context.settings.isReadable else {
      context.output.text(try view(result, context).connections())
      return .done
    }
    try printElements("connections", of: result, context)
    return .done
  }

  static func clients(_ context: Context) throws(Failure) -> ExitCode {
    let result = try context.client.call("clients.list", until: context.deadline)
    guard !context.settings.isReadable else {
      context.output.text(try view(result, context).clients())
      return .done
    }
    try printElements("clients", of: result, context)
    return .done
  }

  private static func printElements(_ key: String, of result: [UInt8], _ context: Context) throws(Failure) {
    for element in RawMembers(result)?.elements(key) ?? [] { try context.printJSON(element) }
    guard let count = (try? JSONValue.parse(result.span.bytes, limit: .max))?.leftOut(key) else { return }
    context.notices.error("\(count) \(key) more did not fit into one answer of the daemon and are left out")
  }

  private static func view(_ result: [UInt8], _ context: Context) throws(Failure) -> StatusView {
    guard let document = try? JSONValue.parse(result.span.bytes, limit: .max) else {
      throw Failure(.protocolMismatch, "the daemon's answer is no status; install the same version of both")
    }
    return StatusView(document: document, now: Clock.wallMilliseconds, palette: context.settings.palette)
  }
}
