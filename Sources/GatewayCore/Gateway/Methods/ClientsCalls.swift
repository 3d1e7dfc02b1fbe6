/// `clients.list`: the programs that are connected to the daemon.
struct ClientsListCall: LocalCall {
  static let method = LocalMethod(
    "clients.list", "Lists the local clients that the caller may see.", right: .status,
    result: .object([
      .always("clients", .list(ResultSchemas.client)),
      .sometimes("left_out", .count, "How many did not fit into one line."),
    ]))

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.caller.demandStatus()
    try OpenAnswer.begin(id, in: session) { StatusAnswer($0, .clients) }
  }
}

extension ClientsListCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) {}
}

/// `clients.kick`: ends a client's conversation against its will.
struct ClientsKickCall: LocalCall {
  /// As `clients.list` names it.
  var client: String

  static let method = LocalMethod(
    "clients.kick", "Disconnects a local client.", right: .admin,
    parameters: [.required(.client, .name, "The client's id, as `clients.list` shows it.")])

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.caller.demandAdministrator()
    guard let other = session.gateway.clients[labelled: client] else {
      throw LocalError(.invalidParams, "No client is called '\(client)'; `clients.list` names them.")
    }
    session.reply(id)
    other.drop(reason: "kicked")
  }
}

extension ClientsKickCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    client = try params.required(.client, params.string(.client, line))
  }
}
