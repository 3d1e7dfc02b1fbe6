/// A fact in a log record. The raw value is its name in a text line.
enum LogField: String, CaseIterable, Sendable {
  case upstream, url, namespace, connection, from, reason, detail, attempt
  case retryIn = "retry_in"
  case client, name, uid, pid, quota, command, outcome, interest
  case file, line, changed, restart
  case version, path, saved, sends, signal, repeated

  /// What a text line shows behind the number; as a field of the journal it is the number alone.
  var unit: String { self == .retryIn ? "ms" : "" }

  /// Its name as a field of the journal.
  var journalName: String {
    switch self {
    case .name: "GATEWAY_CLIENT_NAME"
    case .uid: "GATEWAY_CLIENT_UID"
    case .pid: "GATEWAY_CLIENT_PID"
    default: "GATEWAY_\(rawValue.uppercased())"
    }
  }

  /// Whether two records of one kind that differ here are different facts. What merely varies from time to time, such as
  /// a counter or a sentence, does not count.
  var identifies: Bool {
    switch self {
    case .upstream, .url, .namespace, .from, .reason, .uid, .quota, .outcome, .interest, .file, .line, .changed,
      .restart, .path:
      true
    case .connection, .detail, .attempt, .retryIn, .client, .name, .pid, .command, .version, .saved, .sends, .signal,
      .repeated:
      false
    }
  }
}
