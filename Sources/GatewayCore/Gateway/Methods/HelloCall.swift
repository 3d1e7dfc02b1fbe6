/// `hello`: what the client is, and what the daemon offers.
struct HelloCall: LocalCall {
  var client: String?
  /// The version of the protocol that the client speaks.
  var version: Int?

  static let method = LocalMethod(
    "hello", "Tells the daemon the client's name, and the client what the daemon offers; optional.", right: nil,
    parameters: [
      .optional(.client, .string(1...ParameterKind.identifierLimit), "A name to show in `status`."),
      .optional(.protocolVersion, .integer(1...1_000_000), "The version of this protocol that the client speaks."),
    ],
    result: ResultSchemas.hello)

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    if let version, version != 1 {
      throw LocalError(
        .invalidParams, "Protocol version \(version) is not spoken here; this gateway speaks version 1.",
        [.init("min", .integer(1)), .init("max", .integer(1))])
    }
    session.name = client ?? session.name
    session.reply(id) { write(session, into: &$0) }
  }

  private func write(_ session: LocalSession, into out: inout JSONWriter) {
    let gateway = session.gateway
    out.key("server")
    out.string("gatewayd/\(gateway.identity.version)")
    out.key("protocol")
    out.object {
      $0.member("min", 1); $0.member("max", 1)
    }
    out.key("instance")
    out.string(gateway.instance)
    let limits = gateway.configuration.limits
    out.key("limits")
    out.object {
      $0.member("line", limits.line)
      $0.member("subscriptions", limits.subscriptions)
      $0.member("inflight", limits.inflight)
      $0.member("queue", limits.subscriptionQueue)
    }
    out.key("features")
    out.beginArray()
    out.string("history")
    out.string("parts")
    if gateway.relay.keepsSends { out.string("durable") }
    if gateway.upstreams.fleet != nil { out.string("fleet") }
    out.endArray()
    out.key("you")
    out.object {
      $0.member("uid", Int(session.peer.uid))
      $0.member("gid", Int(session.peer.gid))
      $0.key("rights")
      $0.beginArray()
      for verb in gateway.upstreams.access.generalRights(session.caller.identity) { $0.string(verb.rawValue) }
      $0.endArray()
    }
  }
}

extension HelloCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    client = try params.string(.client, line)
    version = try params.integer(.protocolVersion, line)
  }
}
