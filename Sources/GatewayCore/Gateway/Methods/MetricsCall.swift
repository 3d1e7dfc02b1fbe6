/// `metrics`: everything that is counted, for a monitoring system. As it is summed up over all users and over
/// connections that are gone, it is for administrators; others have `stats`. Decision 0111.
struct MetricsCall: LocalCall {
  var format: MetricsFormat

  static let method = LocalMethod(
    "metrics", "Shows what the daemon counts as a text for Prometheus.", right: .admin,
    parameters: [
      .optional(
        .format, .choice(MetricsFormat.allCases.map(\.rawValue)),
        "How the text is written; `openmetrics` unless it says otherwise.")
    ], result: .object([.always("text", .text)]))

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.caller.demandAdministrator()
    try OpenAnswer.begin(id, in: session) { MetricsAnswer($0, format, for: session) }
  }
}

extension MetricsCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    format = try params.choice(.format, line) ?? .openMetrics
  }
}

/// The answer to `metrics` while it is put together.
private final class MetricsAnswer: PortionedAnswer {
  private let id: RequestID
  private let reading: MetricsReading
  private(set) var line: [UInt8] = []

  init(_ id: RequestID, _ format: MetricsFormat, for session: LocalSession) {
    self.id = id
    reading = MetricsReading(format, for: .user(session.peer.uid))
  }

  /// Upstreams whose connections have gone are in the text, too.
  func isLong(in gateway: Gateway) -> Bool {
    gateway.upstreams.pool.count + gateway.upstreams.retired.count > ListRest<Connection>.portion
  }

  func write(for session: LocalSession) -> Bool {
    guard reading.read(session.gateway) else { return false }
    let limit = session.gateway.configuration.limits.line
    // What cannot fit is not written first: that would be one turn, however long it is.
    if reading.text.count <= limit {
      line = LocalReply.result(id) { $0.member("text", String(decoding: reading.text, as: UTF8.self)) }
    }
    let size = max(line.count, reading.text.count)
    if size > limit { line = LocalReply.error(id, .answerTooLong(size, limit: limit), limit: limit) }
    return true
  }

  func demandRights(of caller: Caller) throws(LocalError) { try caller.demandAdministrator() }
}
