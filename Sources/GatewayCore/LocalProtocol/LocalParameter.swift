/// One param of one method: a row of the method table.
struct LocalParameter: Equatable, Sendable {
  var name: ParameterName
  var kind: ParameterKind
  var isRequired: Bool
  /// One sentence for a person.
  var summary: String

  static func required(_ name: ParameterName, _ kind: ParameterKind, _ summary: String) -> Self {
    Self(name: name, kind: kind, isRequired: true, summary: summary)
  }

  static func optional(_ name: ParameterName, _ kind: ParameterKind, _ summary: String) -> Self {
    Self(name: name, kind: kind, isRequired: false, summary: summary)
  }
}

/// What values a param may have.
enum ParameterKind: Equatable, Sendable {
  case boolean
  /// A plain integer within these bounds.
  case integer(ClosedRange<Int>)
  /// A whole number of milliseconds, at most ten years; the default stands for an absent param.
  case duration(default: Int?)
  /// A string of so many bytes of UTF-8.
  case string(ClosedRange<Int>)
  /// One of these words.
  case choice([String])
  /// An array of so many strings, of so many bytes each.
  case strings(count: ClosedRange<Int>, each: ClosedRange<Int>)
  /// Any array, carried verbatim.
  case array
  /// Any object, carried verbatim.
  case object
  /// The `options` of a target.
  case options
  /// An array of so many messages, each `{"event":…,"args":…,"kwargs":…,"ack":…}`, or perhaps `null`.
  case messages(count: ClosedRange<Int>, orNull: Bool)
  /// `{"epoch":…,"seq":…}`.
  case position
  /// `{"id":…,"at":…,"of":…,"data":…}`.
  case part
  /// What may stand as the `id` of a call.
  case requestID

  /// Ten years, in milliseconds.
  static let durationLimit = 315_360_000_000
  /// The largest integer that every JSON reader keeps exactly (RFC 8259 section 6).
  static let exactIntegerLimit = 9_007_199_254_740_991
  /// Longest id of a call, own id of a subscription, name of a client, ack token and epoch, in bytes.
  static let identifierLimit = 128

  /// Completes the sentence "the param must be …".
  var requirement: String {
    switch self {
    case .boolean: "true or false"
    case .integer(let bounds): "a whole number from \(bounds.lowerBound) to \(bounds.upperBound)"
    case .duration: "a whole number of milliseconds from 0 to \(Self.durationLimit)"
    case .string(let length): "a string of \(length.lowerBound) to \(length.upperBound) bytes"
    case .choice(let words): words.map { "\"\($0)\"" }.joined(separator: " or ")
    case .strings(let count, let length):
      "an array of \(count.lowerBound) to \(count.upperBound) strings of \(length.lowerBound) to "
        + "\(length.upperBound) bytes each"
    case .array: "an array"
    case .object: "an object"
    case .options: "an object with any of path, headers, query and tls"
    case .messages(let count, let orNull):
      "an array of \(count.lowerBound) to \(count.upperBound) objects {\"event\":string of 1 to \(EventName.limit) bytes,"
        + "\"args\":array,\"kwargs\":object,\"ack\":true or false}\(orNull ? " or null" : "")"
    case .position: "an object {\"epoch\":string,\"seq\":whole number}"
    case .part:
      "an object {\"id\":string or whole number,\"at\":whole number,\"of\":whole number,\"data\":string of 1 to "
        + "\(MessagePart.limit) bytes}, whose \"data\" lies within \"of\" bytes"
    case .requestID:
      "a whole number within ±\(Self.exactIntegerLimit) or a string of at most \(Self.identifierLimit) bytes"
    }
  }
}
