import GatewayCore

/// How `--format` prints an event: text with places that are filled in, after `printf(3)` and `date(1)`.
struct EventFormat: Equatable, Sendable {
  /// What stands behind `%`. The raw value is the letter.
  enum Field: Character, CaseIterable, Sendable {
    case name = "e"
    case arguments = "j"
    case line = "J"
    case firstArgument = "a"
    case keywords = "k"
    case sequence = "s"
    case epoch = "E"
    case time = "t"
    case seconds = "U"
    case upstream = "u"
  }

  private enum Part: Equatable, Sendable {
    case text(String)
    case field(Field)
  }

  private var parts: [Part] = []

  /// What stands behind `\`.
  private static let escapes: [(letter: Character, text: String)] = [
    ("n", "\n"), ("t", "\t"), ("r", "\r"), ("e", "\u{1b}"), ("\\", "\\"),
  ]

  /// Throws for a letter that stands for nothing.
  init(_ text: String) throws(Failure) {
    var literal = ""
    var rest = text[...]
    while let character = rest.popFirst() {
      switch character {
      case "%":
        let letter = rest.popFirst()
        if letter == "%" {
          literal.append("%")
        } else if let field = letter.flatMap(Field.init) {
          parts += [.text(literal), .field(field)]
          literal = ""
        } else {
          throw Self.unknown("%", letter, among: Field.allCases.map(\.rawValue) + ["%"])
        }
      case "\\":
        let letter = rest.popFirst()
        guard let escape = Self.escapes.first(where: { $0.letter == letter }) else {
          throw Self.unknown("\\", letter, among: Self.escapes.map(\.letter))
        }
        literal += escape.text
      default: literal.append(character)
      }
    }
    parts.append(.text(literal))
  }

  private static func unknown(_ mark: String, _ letter: Character?, among known: [Character]) -> Failure {
    let all = known.map { "\(mark)\($0)" }.joined(separator: " ")
    let what = letter.map { "'\(mark)\($0)' stands for nothing" } ?? "a '\(mark)' at the end stands for nothing"
    return Failure(.usage, "--format: \(what); write one of \(all)")
  }

  /// The event as text. `shown` makes what the server wrote safe for where it is shown; the format itself is the
  /// user's.
  func text(_ event: ReceivedEvent, of target: Target, shown: (String) -> String) -> String {
    parts.reduce("") { result, part in
      switch part {
      case .text(let text): result + text
      case .field(let field): result + shown(Self.value(field, event, target))
      }
    }
  }

  private static func value(_ field: Field, _ event: ReceivedEvent, _ target: Target) -> String {
    switch field {
    case .name: event.nameText
    case .arguments: String(decoding: event.args, as: UTF8.self)
    case .line: String(decoding: event.line, as: UTF8.self)
    case .firstArgument: event.firstArgument
    case .keywords: event.kwargs.map { String(decoding: $0, as: UTF8.self) } ?? ""
    case .sequence: "\(event.sequence)"
    case .epoch: event.epoch
    case .time: Int64(event.time).map(Clock.instant) ?? event.time
    case .seconds: Int64(event.time).map(Clock.seconds) ?? event.time
    case .upstream: target.asTyped
    }
  }
}

extension ReceivedEvent {
  /// The first argument: of a JSON string its text, of anything else its JSON; empty where there is none.
  fileprivate var firstArgument: String {
    guard let first = RawJSONObject.elements(of: args)?.first else { return "" }
    guard first.first == UInt8(ascii: "\"") else { return String(decoding: first, as: UTF8.self) }
    return JSONScanner.decodeString(first.span.bytes, 0..<first.count)
  }
}
