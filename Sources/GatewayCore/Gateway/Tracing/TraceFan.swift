/// All traces of one upstream: of the connection that programs use, and of the link that this host holds for its
/// fleet.
final class TraceFan: UpstreamObserver {
  private(set) var traces: [Trace] = []

  var wantsPayloads: Bool { traces.contains(where: \.wantsPayloads) }

  func observed(_ fact: TraceFact) {
    for trace in traces { trace.take(fact) }
  }

  func add(_ trace: Trace) { traces.append(trace) }

  func remove(_ trace: Trace) { traces.removeAll { $0 === trace } }
}

/// All traces, by what programs name. They outlive connections: one that is made later is observed from its first
/// attempt on.
struct TraceTable {
  private var fans: [ConnectionKey: TraceFan] = [:]

  /// What observes a connection; nil where it is not traced.
  func observer(of key: ConnectionKey) -> TraceFan? { fans.isEmpty ? nil : fans[key.ofUpstream] }

  /// Adds a trace and returns the observer that its connections need.
  mutating func add(_ trace: Trace) -> TraceFan {
    let fan = fans[trace.key] ?? TraceFan()
    fan.add(trace)
    fans[trace.key] = fan
    return fan
  }

  /// Removes a trace; true when it was the last one of its connections, which then need no observer any more.
  mutating func remove(_ trace: Trace) -> Bool {
    guard let fan = fans[trace.key] else { return false }
    fan.remove(trace)
    guard fan.traces.isEmpty else { return false }
    fans[trace.key] = nil
    return true
  }
}
