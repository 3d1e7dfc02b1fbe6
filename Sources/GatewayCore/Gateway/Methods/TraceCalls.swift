/// `trace`: every packet of a connection. Observing is not using: no connection is made, kept or hastened by it.
struct TraceCall: LocalCall {
  var target: LookTarget
  /// Show payloads too.
  var payloads: Bool

  static let method = LocalMethod(
    "trace", "Shows every packet of a connection, in words, until `untrace`; makes no connection by itself.",
    right: .admin,
    parameters: LocalParameter.lookTarget + [
      .optional(.payloads, .boolean, "Show payloads too, without the secrets that the daemon knows.")
    ],
    result: .object([.always("trace", .text)]))

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    let target = try session.caller.target(self.target)
    let specification = try session.caller.specification(target, need: .admin)
    let traces = session.makeTraces()
    guard traces.count < Trace.limit else {
      throw LocalError(
        .quotaExceeded, "This client has \(Trace.limit) traces; end some with `untrace`.",
        [.init("quota", .string("traces")), .init("limit", .integer(Trace.limit))])
    }
    let gateway = session.gateway
    let trace = Trace(
      id: traces.makeID(), of: specification,
      permit: session.caller.permit(.admin, gateway.upstreams.resolver.place(of: specification)), payloads: payloads,
      target: target, output: session.output, outputs: gateway.outputs, time: gateway.seams.time)
    session.reply(id) { $0.member("trace", trace.id) }
    traces.add(trace)
  }
}

extension TraceCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    target = try params.lookTarget(line)
    payloads = try params.boolean(.payloads, line) ?? false
  }
}

/// `untrace`.
struct UntraceCall: LocalCall {
  var trace: String

  static let method = LocalMethod(
    "untrace", "Ends a trace.", right: .admin, parameters: [.required(.trace, .name, "The trace's id.")])

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    guard session.traces?.remove(trace) == true else {
      throw LocalError(.invalidParams, "This client has no trace called '\(trace)'.")
    }
    session.reply(id)
  }
}

extension UntraceCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    trace = try params.required(.trace, params.string(.trace, line))
  }
}
