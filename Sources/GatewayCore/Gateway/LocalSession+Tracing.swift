/// `trace` and `untrace`.
extension LocalSession {
  /// Observing is not using: no connection is made, kept or hastened by it.
  func trace(_ target: CallTarget, payloads: Bool, _ id: RequestID?) throws(LocalError) {
    let specification = try self.target(target, need: .admin)
    guard traces.count < Trace.limit else {
      throw LocalError(
        .quotaExceeded, "This client has \(Trace.limit) traces; end some with `untrace`.",
        [.init("quota", .string("traces")), .init("limit", .integer(Trace.limit))])
    }
    let trace = Trace(
      id: makeTraceID(), of: specification, payloads: payloads, output: output, outputs: gateway.outputs,
      time: gateway.seams.time)
    reply(id) { $0.member("trace", trace.id) }
    traces[trace.id] = trace
    let observer = gateway.traces.add(trace)
    if let connection = gateway.pool.existing(specification) { connection.observer = observer }
  }

  func untrace(_ trace: String, _ id: RequestID?) throws(LocalError) {
    guard let known = traces.removeValue(forKey: trace) else {
      throw LocalError(.invalidParams, "This client has no trace called '\(trace)'.")
    }
    end(known)
    reply(id)
  }

  /// Ends every trace of a client that leaves.
  func endTraces() {
    for trace in traces.values { end(trace) }
    traces.removeAll()
  }

  private func end(_ trace: Trace) {
    guard gateway.traces.remove(trace) else { return }
    for connection in gateway.pool.all where connection.key == trace.key { connection.observer = nil }
  }

  private func makeTraceID() -> String {
    defer { nextTrace += 1 }
    return "t\(nextTrace)"
  }
}
