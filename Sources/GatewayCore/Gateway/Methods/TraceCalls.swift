/// `trace`: every packet of a connection. Observing is not using: no connection is made, kept or hastened by it.
struct TraceCall: LocalCall {
  var target: CallTarget
  /// Show payloads too.
  var payloads: Bool

  static let method = LocalMethod(
    "trace", "Shows every packet of a connection, in words, until `untrace`; makes no connection by itself.",
    right: .admin,
    parameters: LocalParameter.target + [
      .optional(.payloads, .boolean, "Show payloads too, without the secrets that the daemon knows.")
    ],
    result: .object([.always("trace", .text)]))

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    let specification = try session.caller.specification(target, need: .admin)
    guard session.traces.count < Trace.limit else {
      throw LocalError(
        .quotaExceeded, "This client has \(Trace.limit) traces; end some with `untrace`.",
        [.init("quota", .string("traces")), .init("limit", .integer(Trace.limit))])
    }
    let gateway = session.gateway
    let trace = Trace(
      id: session.makeTraceID(), of: specification,
      permit: session.caller.permit(.admin, gateway.upstreams.resolver.place(of: specification)), payloads: payloads,
      target: target, output: session.output, outputs: gateway.outputs, time: gateway.seams.time)
    session.reply(id) { $0.member("trace", trace.id) }
    session.traces[trace.id] = trace
    let observer = gateway.upstreams.traces.add(trace)
    if let connection = gateway.upstreams.pool.existing(specification) { connection.observer = observer }
  }
}

extension TraceCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    target = try params.target(line)
    payloads = try params.boolean(.payloads, line) ?? false
  }
}

/// `untrace`.
struct UntraceCall: LocalCall {
  var trace: String

  static let method = LocalMethod(
    "untrace", "Ends a trace.", right: .admin, parameters: [.required(.trace, .name, "The trace's id.")])

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    guard let known = session.traces.removeValue(forKey: trace) else {
      throw LocalError(.invalidParams, "This client has no trace called '\(trace)'.")
    }
    session.end(known)
    session.reply(id)
  }
}

extension UntraceCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    trace = try params.required(.trace, params.string(.trace, line))
  }
}

extension LocalSession {
  /// Ends every trace of a client that leaves.
  func endTraces() {
    for trace in traces.values { end(trace) }
    traces.removeAll()
  }

  fileprivate func end(_ trace: Trace) {
    guard gateway.upstreams.traces.remove(trace) else { return }
    for connection in gateway.upstreams.pool.all where connection.key == trace.key { connection.observer = nil }
  }

  fileprivate func makeTraceID() -> String {
    defer { nextTrace += 1 }
    return "t\(nextTrace)"
  }
}
