/// `access.explain`: whether a user may do something, and which rule says so.
struct AccessExplainCall: LocalCall {
  /// Whose rights are asked for.
  enum Person: Equatable {
    case uid(UInt32)
    case name(String)
  }

  var person: Person
  var target: CallTarget
  /// Nil: any event.
  var event: String?
  var right: AccessVerb

  static let method = LocalMethod(
    "access.explain", "Tells whether a user may do something with an upstream, and which access rule says so.",
    right: .admin,
    parameters: [
      .optional(.user, .name, "The user's name; this or `uid` is needed."),
      .optional(.uid, .integer(0...4_294_967_294), "The user's number; this or `user` is needed."),
    ] + LocalParameter.target + [
      .optional(.event, .eventName, "Name of an event; without it the question is whether there is one."),
      .required(.right, .choice(AccessVerb.allCases.map(\.rawValue)), "The right that is asked for."),
    ],
    result: .object([
      .always("allowed", .boolean), .always("rule", .text, "The rule that decides, in words and with its place."),
    ]))

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.caller.demandAdministrator()
    let upstreams = session.gateway.upstreams
    let identity = try person.identity(session.gateway.seams.users)
    let specification: UpstreamSpecification
    do throws(LocalError) { specification = try upstreams.resolver.resolve(target, uid: identity.uid) } catch {
      guard error.kind == .upstreamUnknown, case .url = target.name else { throw error }
      return answer(session, id, isAllowed: false, error.message)
    }
    let explanation = AccessExplanation(
      right, event, at: upstreams.resolver.place(of: specification), for: identity, by: upstreams.access)
    answer(session, id, isAllowed: explanation.isAllowed, explanation.text)
  }

  private func answer(_ session: LocalSession, _ id: RequestID?, isAllowed: Bool, _ text: String) {
    session.reply(id) {
      $0.key("allowed")
      $0.bool(isAllowed)
      $0.member("rule", text)
    }
  }
}

extension AccessExplainCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    switch (try params.string(.user, line), try params.integer(.uid, line)) {
    case (let name?, nil): person = .name(name)
    case (nil, let uid?): person = .uid(UInt32(uid))
    default: throw .invalid("user", "\"access.explain\" needs either \"user\" or \"uid\".")
    }
    target = try params.target(line)
    event = try params.string(.event, line)
    right = try params.required(.right, params.choice(.right, line))
  }
}

extension AccessExplainCall.Person {
  /// With the groups that the machine's directory knows. A number without an account has none.
  fileprivate func identity(_ users: (any UserDirectory)?) throws(LocalError) -> AccessIdentity {
    switch self {
    case .uid(let uid): return users?.user(uid) ?? AccessIdentity(uid: uid, groups: [])
    case .name(let name):
      guard let known = users?.user(named: name) else {
        throw .invalid(
          "user", "There is no user \(name.shortened(to: 64).tomlString) on this machine; name one, or give a \"uid\".")
      }
      return known
    }
  }
}
