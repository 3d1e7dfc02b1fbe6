/// `fleet.move`: another host is to have the link of an upstream.
struct FleetMoveCall: LocalCall {
  var target: CallTarget
  /// Nil: any other than the present one.
  var host: String?

  static let method = LocalMethod(
    "fleet.move", "Gives the link of an upstream to another host of the fleet, and answers when that has it.",
    right: .admin,
    parameters: [
      .required(.upstream, .name, "Name of a configured upstream that the fleet shares, or its URL."),
      .optional(.namespace, .string(1...1_024), "Namespace; that of the configuration unless given."),
      .optional(.host, .string(1...64), "The host that is to have it; without it any other than the present one."),
    ],
    result: .object([
      .always("upstream", .text), .always("namespace", .text),
      .always("holder", .text, "The host that has the link now."), .always("term", .count),
      .sometimes("already", .boolean, "It had the link before, and nothing was done."),
    ]))

  static let startsWork = true

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    let specification = try session.caller.specification(target, need: .admin)
    let fleet = try session.caller.fleet()
    guard let name = specification.name, specification.settings.fleet,
      let link = fleet.link(of: fleet.place(name, specification.namespace))
    else {
      throw .invalid(
        "upstream",
        "'\(specification.name ?? specification.url.redacted)' is not shared by the fleet in this namespace: set `fleet = true` for it, or name one that 'fleet.list' has."
      )
    }
    let moving = FleetMoving(link, to: host)
    let number = session.makeCallNumber()
    let open = OpenFleetCall(id) {
      moving.cancel()
    } demand: { [target] caller throws(LocalError) in
      _ = try caller.specification(target, need: .admin)
    }
    session.open(open, number: number)
    moving.start { [weak session, host] result in
      guard let session else { return }
      switch result {
      case .success(let outcome):
        guard let call = session.close(number) else { return }
        session.reply(call.requestID) {
          $0.member("upstream", name)
          $0.member("namespace", specification.shownNamespace)
          $0.member("holder", outcome.own.host)
          $0.member("term", Int(clamping: outcome.own.term))
          guard outcome.hadIt else { return }
          $0.key("already")
          $0.bool(true)
        }
      case .failure(let problem): session.end(number, LocalError(problem, of: name, to: host))
      }
    }
  }
}

extension FleetMoveCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    let name = try params.required(.upstream, params.string(.upstream, line))
    target = CallTarget(
      name: name.contains(text: "://") ? .url(name) : .upstream(name), namespace: try params.string(.namespace, line))
    host = try params.string(.host, line)
  }
}
