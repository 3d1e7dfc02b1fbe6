/// `status`: the daemon, its connections and its clients.
struct StatusCall: LocalCall {
  /// Only the connections of this upstream, and the programs that use it; nil shows all.
  var target: CallTarget?

  static let method = LocalMethod(
    "status", "Shows the daemon, its connections and its local clients, as far as the caller may see them.",
    right: .status, parameters: LocalParameter.optionalTarget, result: ResultSchemas.status)

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.caller.demandStatus()
    guard let target else { return try OpenAnswer.begin(id, in: session) { StatusAnswer($0, .everything) } }
    let asked = session.gateway.upstreams.connections(of: try session.caller.specification(target, need: .status))
    try OpenAnswer.begin(id, in: session) { StatusAnswer($0, .connections(asked)) }
  }
}

extension StatusCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    target = try params.optionalTarget(line)
  }
}
