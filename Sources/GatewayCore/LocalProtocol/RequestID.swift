/// The id of a call, echoed as it was written.
public struct RequestID: Hashable, Sendable {
  enum Value: Hashable, Sendable {
    case integer(Int64)
    case string(String)
    /// That of a call which an earlier daemon has answered and this one makes again. No client can write it.
    case answered

    static func == (a: Self, b: Self) -> Bool {
      switch (a, b) {
      case (.integer(let one), .integer(let other)): one == other
      case (.string(let one), .string(let other)): one.isExactly(other)
      case (.answered, .answered): true
      case (.integer, _), (.string, _), (.answered, _): false
      }
    }

    func hash(into hasher: inout Hasher) {
      switch self {
      case .integer(let integer): hasher.combine(integer)
      case .string(let text): text.hashExactly(into: &hasher)
      case .answered: break
      }
    }
  }

  /// Any but an integer in its usual form.
  private final class Other: Sendable {
    let value: Value
    /// The JSON text to echo.
    let text: [UInt8]

    init(_ value: Value, _ text: [UInt8]) {
      self.value = value
      self.text = text
    }
  }

  /// Counts only where there is no `other`.
  private let integer: Int64
  /// Nil for nearly all: an id is handed on often, and then that costs nothing.
  private let other: Other?

  /// What makes two ids the same.
  var value: Value { other?.value ?? .integer(integer) }
  /// The JSON text to echo; empty for an integer in its usual form.
  var text: [UInt8] { other?.text ?? [] }

  init(value: Value, text: [UInt8]) {
    if text.isEmpty, case .integer(let integer) = value {
      self.integer = integer
      other = nil
    } else {
      integer = 0
      other = Other(value, text)
    }
  }

  /// An integer in its usual form.
  private init(_ integer: Int64) {
    self.integer = integer
    other = nil
  }

  /// Echoes the id as it was written.
  func write(into out: inout JSONWriter) {
    if let other { out.raw(other.text) } else { out.integer(integer) }
  }

  /// Bytes that it takes at most.
  var room: Int { other?.text.count ?? RawWriter.digitLimit + 1 }

  /// The same as `write(into:)` of a `JSONWriter`, where there is room.
  @inline(__always)
  func write(into out: inout RawWriter) {
    if let text = other?.text { return out.put(text.span.bytes) }
    if integer < 0 { out.put("-") }
    out.put(decimal: integer.magnitude)
  }

  /// See `Value.answered`.
  static let answered = RequestID(value: .answered, text: [])
  var isAnswered: Bool { if let other, case .answered = other.value { true } else { false } }

  public static func == (a: Self, b: Self) -> Bool {
    a.other == nil && b.other == nil ? a.integer == b.integer : a.value == b.value
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension RequestID {
  /// An id as it stands in a line: a plain integer that every JSON reader keeps exactly, or a short string.
  init?(_ line: RawSpan, _ range: Range<Int>) {
    if let integer = JSONScanner.integer(line, range) {
      guard integer.magnitude <= ParameterKind.exactIntegerLimit else { return nil }
      // There are two ways to write a zero.
      guard integer == 0, range.count > 1 else { self.init(integer); return }
      self.init(value: .integer(0), text: Array("-0".utf8))
    } else {
      let text = line.extracting(range).withUnsafeBytes { [UInt8]($0) }
      guard JSONScanner.byte(line, range.lowerBound) == UInt8(ascii: "\"") else { return nil }
      let decoded = JSONScanner.decodeBytes(line, range)
      guard decoded.wellFormed, decoded.bytes.count <= ParameterKind.identifierLimit else { return nil }
      self.init(value: .string(String(decoding: decoded.bytes, as: UTF8.self)), text: text)
    }
  }
}
