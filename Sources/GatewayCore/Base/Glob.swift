/// Patterns over names: `*` stands for any run of characters, the empty one included, `?` for exactly one character (a
/// Unicode scalar), `\` takes the special meaning from the character behind it. A lone `\` at the end stands for
/// itself. Everything else matches the same bytes only; case counts. Decisions 0003 and 0090.
enum Glob {
  private static let star = UInt8(ascii: "*")
  private static let one = UInt8(ascii: "?")
  private static let escape = UInt8(ascii: "\\")
  /// Steps that are taken, besides one for each byte of the pattern, before the automaton is: enough for nearly every
  /// name.
  private static let stepLimit = 128

  /// Whether the whole name fits the pattern.
  static func matches(_ pattern: String, _ name: String) -> Bool {
    matches(pattern.utf8Span.span, name.utf8Span.span)
  }

  /// The same over UTF-8 text, in a time that grows with the name and not with how often the pattern nearly fits: a
  /// mismatch returns to the last `*` only, and where that happens too often an automaton decides. Allocates nothing
  /// before that.
  static func matches(_ pattern: Span<UInt8>, _ name: Span<UInt8>) -> Bool {
    matchesGoingBack(pattern, name) ?? GlobAutomaton(pattern).matches(name)
  }

  /// Nil where that takes too many steps.
  static func matchesGoingBack(_ pattern: Span<UInt8>, _ name: Span<UInt8>) -> Bool? {
    var inPattern = 0
    var inName = 0
    var stepsLeft = stepLimit + pattern.count
    /// Behind the last `*`, and where in the name it was tried last.
    var retry: (pattern: Int, name: Int)?
    while true {
      stepsLeft -= 1
      if stepsLeft < 0 { return nil }
      if inPattern < pattern.count, pattern[inPattern] == star {
        inPattern += 1
        if inPattern == pattern.count { return true }
        retry = (inPattern, inName)
        continue
      }
      // At the end of the name, what is left of the pattern needs a character, and going back leaves even fewer.
      if inName == name.count { return inPattern == pattern.count }
      if step(pattern, &inPattern, name, &inName) { continue }
      guard let last = retry else { return false }
      inName = nextScalar(name, last.name)
      inPattern = last.pattern
      retry = (last.pattern, inName)
    }
  }

  /// Whether the text has a `*` or `?` that is not escaped: otherwise it is a name, and `unescape` gives it.
  static func isPattern(_ text: String) -> Bool {
    let bytes = text.utf8Span.span
    var isEscaped = false
    for index in bytes.indices {
      let byte = bytes[index]
      if isEscaped {
        isEscaped = false
      } else if byte == star || byte == one {
        return true
      } else {
        isEscaped = byte == escape
      }
    }
    return false
  }

  /// The text that stands for a name and is no pattern.
  static func escape(_ name: String) -> String {
    guard name.utf8.contains(where: { $0 == star || $0 == one || $0 == escape }) else { return name }
    var bytes: [UInt8] = []
    for byte in name.utf8 {
      if byte == star || byte == one || byte == escape { bytes.append(escape) }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The name that a text without `*` and `?` stands for.
  static func unescape(_ text: String) -> String {
    guard hasEscape(text) else { return text }
    var bytes: [UInt8] = []
    var isEscaped = false
    for byte in text.utf8 {
      if !isEscaped, byte == escape {
        isEscaped = true
      } else {
        bytes.append(byte)
        isEscaped = false
      }
    }
    if isEscaped { bytes.append(escape) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Over the span: `utf8.contains` takes many times as long, and a filter may have a megabyte of names.
  private static func hasEscape(_ text: String) -> Bool {
    let bytes = text.utf8Span.span
    for index in bytes.indices where bytes[index] == escape { return true }
    return false
  }

  /// Matches one element of the pattern that is not a `*`, and moves both positions behind it.
  @inline(__always)
  private static func step(
    _ pattern: Span<UInt8>, _ inPattern: inout Int, _ name: Span<UInt8>, _ inName: inout Int
  ) -> Bool {
    guard inPattern < pattern.count, inName < name.count else { return false }
    var wanted = pattern[inPattern]
    if wanted == one {
      inPattern += 1
      inName = nextScalar(name, inName)
      return true
    }
    var width = 1
    if wanted == escape, inPattern + 1 < pattern.count {
      wanted = pattern[inPattern + 1]
      width = 2
    }
    guard wanted == name[inName] else { return false }
    inPattern += width
    inName += 1
    return true
  }

  /// The position behind the UTF-8 scalar at `index`.
  @inline(__always)
  private static func nextScalar(_ text: Span<UInt8>, _ index: Int) -> Int {
    var next = index + 1
    while next < text.count, text[next] & 0xc0 == 0x80 { next += 1 }
    return next
  }
}
