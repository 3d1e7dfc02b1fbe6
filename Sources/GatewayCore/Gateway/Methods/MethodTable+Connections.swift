/// The life of a connection.
extension MethodTable {
  static let connectionMethods: [LocalMethod] = [
    LocalMethod(
      "wait", "Waits until a connection is in a state, and holds it meanwhile.", right: .subscribe,
      parameters: LocalParameter.target + [
        .required(.state, .choice(ConnectionState.allCases.map(\.rawValue)), "The state to wait for."),
        .required(
          .timeout, .duration(default: nil), "How long to wait, in milliseconds; then the call ends as Expired."),
      ],
      result: ResultSchemas.state
    ) { params, line throws(LocalError) in
      .wait(
        target: try params.target(line), state: try params.required(.state, params.choice(.state, line)),
        timeout: try params.required(.timeout, params.duration(.timeout, line)))
    },
    LocalMethod(
      "reconnect", "Connects now, and ends what `disconnect` began.", right: .admin,
      parameters: LocalParameter.target, result: ResultSchemas.state
    ) { params, line throws(LocalError) in .reconnect(try params.target(line)) },
    LocalMethod(
      "disconnect", "Disconnects, and stays so until `reconnect`.", right: .admin,
      parameters: LocalParameter.target, result: ResultSchemas.state
    ) { params, line throws(LocalError) in .disconnect(try params.target(line)) },
    LocalMethod(
      "release", "Forgets a disconnected connection that nobody uses.", right: .admin,
      parameters: LocalParameter.target, result: ResultSchemas.state
    ) { params, line throws(LocalError) in .release(try params.target(line)) },
  ]
}
