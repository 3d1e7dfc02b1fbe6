import GatewayCore

/// `introspect [METHOD]`: what the daemon says about its methods and notifications.
enum IntrospectCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .introspect, operands: "[METHOD]", operandCount: 0...1,
    summary: "list the daemon's methods, or explain one",
    details: ["On a terminal a readable list; otherwise, or with --json, the JSON Schemas that the daemon gives."],
    examples: [.init("What can subscribe do?", "gatewayctl introspect subscribe")])

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let view = IntrospectView(palette: context.settings.palette, width: context.settings.columns)
    let result = try context.client.call("rpc.discover", until: context.deadline)
    guard let name = context.arguments.operands.first else {
      if context.settings.isReadable {
        context.output.text(view.list(try value(result)))
      } else {
        try context.printJSON(result)
      }
      return .done
    }
    let found = try find(name, in: result)
    if context.settings.isReadable {
      context.output.text(view.page(try value(found)))
    } else {
      try context.printJSON(found)
    }
    return .done
  }

  /// The raw description of one method or notification.
  private static func find(_ name: String, in document: [UInt8]) throws(Failure) -> [UInt8] {
    let members = RawJSONObject(document)
    let items = (members?.elements("methods") ?? []) + (members?.elements("x-notifications") ?? [])
    var names: [String] = []
    for item in items {
      guard let known = RawJSONObject(item)?.string("name") else { continue }
      if known == name { return item }
      names.append(known)
    }
    let nearest = NearestName.of(name, among: names).map { "did you mean '\($0)'?" }
    throw Failure(
      .refusedByDaemon,
      "the daemon has no method '\(ShownAddress.word(name))'; \(nearest ?? "'gatewayctl introspect' lists them")")
  }

  private static func value(_ text: [UInt8]) throws(Failure) -> JSONValue {
    do {
      return try JSONValue.parse(text.span.bytes, limit: .max)
    } catch {
      throw Failure(.protocolMismatch, "the daemon's answer is no description; install the same version of both")
    }
  }
}
