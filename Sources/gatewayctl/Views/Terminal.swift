import GatewayCore

/// The few colours of the readable output, or none.
struct Palette: Equatable, Sendable {
  var isColored: Bool

  /// No colour for `--no-color`, `NO_COLOR` or `TERM=dumb`; colour for `FORCE_COLOR` (other than 0) or on a terminal.
  /// The option goes before the variables, and `NO_COLOR` before `FORCE_COLOR`.
  init(environment: Environment, refused: Bool) {
    if refused || environment["NO_COLOR"] != nil {
      isColored = false
    } else if let forced = environment["FORCE_COLOR"] {
      isColored = forced != "0"
    } else {
      isColored = environment.outputIsTerminal && environment["TERM"] != "dumb"
    }
  }

  init(isColored: Bool) { self.isColored = isColored }

  /// What a colour stands for. The raw value is the parameter of the escape sequence SGR (ECMA-48 section 8.3.117).
  enum Role: String, Sendable {
    case heading = "1"
    case good = "32"
    case waiting = "33"
    case bad = "31"
    case faint = "2"
  }

  /// The text in the colour of its role; as it is without colours.
  func paint(_ text: String, _ role: Role?) -> String {
    guard isColored, let role, !text.isEmpty else { return text }
    return "\u{1b}[\(role.rawValue)m\(text)\u{1b}[0m"
  }
}

/// How many columns a text takes on a terminal, and how to show text from elsewhere safely.
enum TextWidth {
  /// Columns that a line of help fills at most.
  static let ordinary = 80
  /// A narrower terminal is treated as if it had so many columns.
  static let least = 20
  /// A word is not broken into parts that are narrower: of a word so cut up nothing could be read.
  static let leastLine = 16

  /// Columns of a text without control characters.
  static func of(_ text: String) -> Int {
    text.unicodeScalars.reduce(0) { $0 + columns(of: $1) }
  }

  private static func columns(of scalar: Unicode.Scalar) -> Int {
    if scalar.value < 0x300 { return 1 }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: return isWide(scalar.value) ? 2 : 1
    }
  }

  /// The blocks whose characters are wide or full-width (Unicode Standard Annex 11), emoji included.
  private static func isWide(_ value: UInt32) -> Bool {
    guard value >= 0x1100 else { return false }
    return wide.contains { $0.contains(value) }
  }

  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115f, 0x231a...0x231b, 0x2329...0x232a, 0x23e9...0x23ec, 0x2614...0x2615, 0x2648...0x2653,
    0x26a1...0x26a1, 0x2705...0x2705, 0x270a...0x270b, 0x2728...0x2728, 0x274c...0x274c, 0x2753...0x2755,
    0x2e80...0x303e, 0x3041...0x4dbf, 0x4e00...0xa4cf, 0xa960...0xa97c, 0xac00...0xd7a3, 0xf900...0xfaff,
    0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6, 0x16fe0...0x18cff, 0x1b000...0x1b2ff, 0x1f004...0x1f004,
    0x1f0cf...0x1f0cf, 0x1f18e...0x1f18e, 0x1f191...0x1f19a, 0x1f200...0x1f64f, 0x1f680...0x1f6ff, 0x1f7e0...0x1f7eb,
    0x1f900...0x1f9ff, 0x1fa70...0x1faff, 0x20000...0x3fffd,
  ]

  /// Text from a server or another program with everything that could steer a terminal written out as `\u001b`.
  static func escaped(_ text: String) -> String { text.escapingControls(where: isEscaped) }

  /// Beside what hides or steers text, the joiner U+200D: it is not seen, and terminals do not agree on how many
  /// columns the characters take that it joins.
  private static func isEscaped(_ scalar: Unicode.Scalar) -> Bool { scalar.isInvisibleControl || scalar == "\u{200d}" }

  /// Lines of at most `width` columns, each behind `indent` spaces.
  static func wrapped(_ text: String, indent: Int, width: Int = Self.ordinary) -> String {
    let margin = String(repeating: " ", count: indent)
    return lines(of: text, width: width - indent).reduce("") { $0 + margin + $1 + "\n" }
  }

  /// The words of a text on lines of at most `width` columns; a word that is longer goes on in the next line.
  static func lines(of text: String, width: Int) -> [String] {
    var lines = [""]
    for word in text.split(separator: " ").flatMap({ parts(of: String($0), width: max(width, leastLine)) }) {
      let line = lines[lines.count - 1]
      let joined = line.isEmpty ? word : "\(line) \(word)"
      if line.isEmpty || of(joined) <= width { lines[lines.count - 1] = joined } else { lines.append(word) }
    }
    return lines
  }

  private static func parts(of word: String, width: Int) -> [String] {
    guard of(word) > width else { return [word] }
    var parts: [String] = []
    var rest = pieces(of: word)[...]
    while !rest.isEmpty {
      let count = max(1, fitting(rest, width))
      parts.append(rest.prefix(count).joined())
      rest = rest.dropFirst(count)
    }
    return parts
  }

  /// The text in at most `width` columns, with `…` in the place of what was left out of its middle: the beginnings and
  /// the ends of URLs tell them apart.
  static func elided(_ text: String, to width: Int) -> String {
    guard of(text) > width else { return text }
    let pieces = pieces(of: text)
    let tail = fitting(pieces.reversed(), (width - 1) / 3)
    let head = fitting(pieces, width - 1 - (width - 1) / 3)
    return pieces.prefix(head).joined() + "…" + pieces.suffix(tail).joined()
  }

  /// How many pieces fit into so many columns.
  private static func fitting(_ pieces: some Sequence<String>, _ width: Int) -> Int {
    var left = width
    var count = 0
    for piece in pieces {
      left -= of(piece)
      guard left >= 0 else { break }
      count += 1
    }
    return count
  }

  /// What a text is cut between: escapes like `\u001b`, two of them where they are two surrogates, and characters with
  /// the marks that stand on them.
  private static func pieces(of text: String) -> [String] {
    let scalars = Array(text.unicodeScalars)
    var pieces: [String] = []
    var rest = scalars[...]
    while let first = rest.first {
      var count = 1
      if let unit = escapedUnit(rest) {
        let next = escapedUnit(rest.dropFirst(6))
        count = UTF16.isLeadSurrogate(unit) && next.map(UTF16.isTrailSurrogate) == true ? 12 : 6
      } else if columns(of: first) > 0 {
        count += rest.dropFirst().prefix { columns(of: $0) == 0 }.count
      }
      pieces.append(String(String.UnicodeScalarView(rest.prefix(count))))
      rest = rest.dropFirst(count)
    }
    return pieces
  }

  /// The UTF-16 unit whose escape the scalars begin with.
  private static func escapedUnit(_ scalars: ArraySlice<Unicode.Scalar>) -> UInt16? {
    let digits = scalars.dropFirst(2).prefix(4)
    guard scalars.starts(with: ["\\", "u"]), digits.count == 4, digits.allSatisfy(\.properties.isASCIIHexDigit) else {
      return nil
    }
    return UInt16(String(String.UnicodeScalarView(digits)), radix: 16)
  }
}
