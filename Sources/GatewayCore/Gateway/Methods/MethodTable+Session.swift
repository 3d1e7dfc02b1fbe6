/// What concerns the local client itself, or the whole daemon.
extension MethodTable {
  static let sessionMethods: [LocalMethod] = [
    LocalMethod(
      "hello", "Tells the daemon the client's name, and the client what the daemon offers; optional.", right: nil,
      parameters: [
        .optional(.client, .string(1...ParameterKind.identifierLimit), "A name to show in `status`."),
        .optional(.protocolVersion, .integer(1...1_000_000), "The version of this protocol that the client speaks."),
      ],
      result: ResultSchemas.hello
    ) { params, line throws(LocalError) in
      .hello(client: try params.string(.client, line), version: try params.integer(.protocolVersion, line))
    },
    LocalMethod("ping", "Does nothing, and answers.", right: nil) { _, _ in .ping },
    LocalMethod(
      "status", "Shows the daemon, its connections and its local clients, as far as the caller may see them.",
      right: .status, parameters: LocalParameter.optionalTarget, result: ResultSchemas.status
    ) { params, line throws(LocalError) in
      .status(target: try params.optionalTarget(line))
    },
    LocalMethod(
      "clients.list", "Lists the local clients that the caller may see.", right: .status,
      result: .object([
        .always("clients", .list(ResultSchemas.client)),
        .sometimes("left_out", .count, "How many did not fit into one line."),
      ])
    ) { _, _ in .clientsList },
    LocalMethod(
      "clients.kick", "Disconnects a local client.", right: .admin,
      parameters: [.required(.client, .name, "The client's id, as `clients.list` shows it.")]
    ) { params, line throws(LocalError) in
      .clientsKick(client: try params.required(.client, params.string(.client, line)))
    },
    LocalMethod(
      "reload", "Reads the configuration again; a mistake in it changes nothing.", right: .admin,
      result: .object([.always("changed", .list(.text), "What is different now.")])
    ) { _, _ in .reload },
    LocalMethod("rpc.discover", "Describes all methods, notifications and errors.", right: nil) { _, _ in .discover },
    LocalMethod(
      "rpc.cancel", "Ends the call with that id, which is then answered with Cancelled.", right: nil,
      parameters: [.required(.id, .requestID, "The id of a call of the same client that is not answered yet.")]
    ) { params, line throws(LocalError) in
      .cancel(id: try params.required(.id, params.requestID(.id, line)))
    },
  ]
}
