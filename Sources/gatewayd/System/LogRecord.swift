import GatewayCore

/// One record of the log: a constant message and its facts. Holds no payload and no secret.
struct LogRecord: Equatable {
  struct Fact: Equatable {
    var field: LogField
    var value: String
  }

  var kind: LogKind
  var level: LogLevel
  var facts: [Fact]

  /// A fact whose value is nil is left out. Values longer than `valueLimit` bytes are cut.
  init(_ kind: LogKind, level: LogLevel? = nil, _ facts: KeyValuePairs<LogField, String?> = [:]) {
    self.kind = kind
    self.level = level ?? kind.level
    self.facts = facts.compactMap { field, value in
      value.map { value in
        Fact(field: field, value: value.shortened(to: Self.valueLimit - String.cutMark.utf8.count))
      }
    }
  }

  /// Longest value of a fact, in bytes.
  static let valueLimit = 1_024

  /// The message with its facts: `connection lost upstream=chat reason=closed detail="the server closed the link"`.
  /// Control characters are escaped: a server must not write to the administrator's terminal.
  var text: String {
    facts.reduce(kind.message) { $0 + " " + $1.field.rawValue + "=" + Self.quoted($1.value + $1.field.unit) }
  }

  /// What makes a later record the same fact again.
  var identity: Identity {
    Identity(kind: kind, values: facts.filter(\.field.identifies).map(\.value))
  }

  struct Identity: Hashable {
    var kind: LogKind
    var values: [String]
  }

  private static func quoted(_ value: String) -> String {
    let plain = value.unicodeScalars.allSatisfy { $0 != " " && $0 != "\"" && $0 != "=" && !$0.isInvisibleControl }
    if plain, !value.isEmpty { return value }
    var text = "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case _ where scalar.isInvisibleControl: text += "\\u{\(String(scalar.value, radix: 16))}"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }
}

/// A fact in a log record. The raw value is its name in a text line.
enum LogField: String, CaseIterable, Sendable {
  case upstream, url, namespace, connection, from, reason, detail, attempt
  case retryIn = "retry_in"
  case client, name, uid, pid, quota, command, event, outcome, interest
  case file, line, changed, restart
  case version, path, saved, sends, clients, closed, signal, repeated, term, conversation, links

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

  /// Whether two records of one kind that differ here are different facts. What merely varies from time to time, such
  /// as a counter or a sentence, does not count.
  var identifies: Bool {
    switch self {
    case .upstream, .url, .namespace, .from, .reason, .uid, .quota, .outcome, .interest, .file, .line, .changed,
      .restart, .path, .term:
      true
    case .connection, .detail, .attempt, .retryIn, .client, .name, .pid, .command, .event, .version, .saved, .sends,
      .clients, .closed, .signal, .repeated, .conversation, .links:
      false
    }
  }
}
