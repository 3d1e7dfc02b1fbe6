import GatewayCore

/// JSON for a person to read: each member and each element on a line of its own, in colours. Numbers and strings stay
/// as they were received, byte for byte, but for what could steer the terminal.
struct JSONLayout: Equatable, Sendable {
  var palette: Palette
  /// The text goes to a terminal.
  var isEscaped: Bool

  /// Valid JSON on several lines, without a line feed behind the last.
  func text(_ json: [UInt8]) -> String {
    var result = ""
    var depth = 0
    var at = 0
    while at < json.count {
      let byte = json[at]
      let end = Self.end(of: at, in: json)
      defer { at = end }
      switch byte {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        result.unicodeScalars.append(Unicode.Scalar(byte))
        let next = Self.skippingSpace(end, in: json)
        guard next < json.count, json[next] != byte + 2 else { continue }
        depth += 1
        result += Self.line(depth)
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        let isEmpty = result.unicodeScalars.last == Unicode.Scalar(byte - 2)
        if !isEmpty {
          depth -= 1
          result += Self.line(depth)
        }
        result.unicodeScalars.append(Unicode.Scalar(byte))
      case UInt8(ascii: ","): result += "," + Self.line(depth)
      case UInt8(ascii: ":"): result += ": "
      case 0x20, 0x09, 0x0a, 0x0d: continue
      default: result += token(json, at..<end)
      }
    }
    return result
  }

  private static func line(_ depth: Int) -> String { "\n" + String(repeating: "  ", count: depth) }

  /// A string, a number or a word.
  private func token(_ json: [UInt8], _ range: Range<Int>) -> String {
    let text = String(decoding: json[range], as: UTF8.self)
    return palette.paint(isEscaped ? TextWidth.escaped(text) : text, Self.role(json, range))
  }

  private static func role(_ json: [UInt8], _ range: Range<Int>) -> Palette.Role? {
    switch json[range.lowerBound] {
    case UInt8(ascii: "\""):
      let next = skippingSpace(range.upperBound, in: json)
      return next < json.count && json[next] == UInt8(ascii: ":") ? .heading : .good
    case UInt8(ascii: "n"), UInt8(ascii: "t"), UInt8(ascii: "f"): return .faint
    default: return .waiting
    }
  }

  /// Behind the token that begins at a place.
  private static func end(of start: Int, in json: [UInt8]) -> Int {
    if json[start] == UInt8(ascii: "\"") {
      var at = start + 1
      while at < json.count, json[at] != UInt8(ascii: "\"") { at += json[at] == UInt8(ascii: "\\") ? 2 : 1 }
      return min(at + 1, json.count)
    }
    var at = start
    while at < json.count, !isPunctuation(json[at]) { at += 1 }
    return max(at, start + 1)
  }

  private static func skippingSpace(_ start: Int, in json: [UInt8]) -> Int {
    var at = start
    while at < json.count, [0x20, 0x09, 0x0a, 0x0d].contains(json[at]) { at += 1 }
    return at
  }

  private static func isPunctuation(_ byte: UInt8) -> Bool { " \t\r\n{}[],:\"".utf8.contains(byte) }
}
