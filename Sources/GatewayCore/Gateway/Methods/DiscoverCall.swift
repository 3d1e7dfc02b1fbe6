/// `rpc.discover`: what there is to be called. OpenRPC 1.3.2, section "Service Discovery Method".
struct DiscoverCall: LocalCall {
  static let method = LocalMethod("rpc.discover", "Describes all methods, notifications and errors.", right: nil)

  func perform(in session: LocalSession, _ id: RequestID?) {
    let version = session.gateway.identity.version
    session.reply(id) { Discovery.write(MethodTable.methods, version: version, into: &$0) }
  }
}

extension DiscoverCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) {}
}
