/// The id of a call, echoed as it was written.
public struct RequestID: Hashable, Sendable {
  enum Value: Hashable, Sendable {
    case integer(Int64)
    case string(String)
    /// That of a call which an earlier daemon has answered and this one makes again. No client can write it.
    case answered
  }
  /// What makes two ids the same.
  let value: Value
  /// Nil for an integer in its usual form, which most are: an id is handed on often.
  private let spelling: [UInt8]?
  /// The JSON text to echo; empty for an integer in its usual form.
  var text: [UInt8] { spelling ?? [] }

  init(value: Value, text: [UInt8]) {
    self.value = value
    spelling = text.isEmpty ? nil : text
  }

  /// Echoes the id as it was written.
  func write(into out: inout JSONWriter) {
    if spelling == nil, case .integer(let integer) = value { out.integer(integer) } else { out.raw(text) }
  }

  /// Bytes that it takes at most.
  var room: Int { max(spelling?.count ?? 0, RawWriter.digitLimit + 1) }

  /// The same as `write(into:)` of a `JSONWriter`, where there is room.
  @inline(__always)
  func write(into out: inout RawWriter) {
    if let spelling { return out.put(spelling.span.bytes) }
    guard case .integer(let integer) = value else { return }
    if integer < 0 { out.put("-") }
    out.put(decimal: integer.magnitude)
  }

  /// See `Value.answered`.
  static let answered = RequestID(value: .answered, text: [])
  var isAnswered: Bool { if case .answered = value { true } else { false } }

  public static func == (a: Self, b: Self) -> Bool { a.value == b.value }
  public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension RequestID {
  /// An id as it stands in a line: a plain integer that every JSON reader keeps exactly, or a short string.
  init?(_ line: RawSpan, _ range: Range<Int>) {
    if let integer = JSONScanner.integer(line, range) {
      guard integer.magnitude <= ParameterKind.exactIntegerLimit else { return nil }
      // There are two ways to write a zero.
      let text = integer == 0 && range.count > 1 ? Array("-0".utf8) : []
      self.init(value: .integer(integer), text: text)
    } else {
      let text = line.extracting(range).withUnsafeBytes { [UInt8]($0) }
      guard JSONScanner.byte(line, range.lowerBound) == UInt8(ascii: "\"") else { return nil }
      let decoded = JSONScanner.decodeBytes(line, range)
      guard decoded.wellFormed, decoded.bytes.count <= ParameterKind.identifierLimit else { return nil }
      self.init(value: .string(String(decoding: decoded.bytes, as: UTF8.self)), text: text)
    }
  }
}
