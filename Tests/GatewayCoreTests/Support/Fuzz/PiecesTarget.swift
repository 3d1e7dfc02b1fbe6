@testable import GatewayCore

/// What is looked at while it comes must be judged as when it is whole: a long JSON text, and the outline of a MessagePack
/// map. The first byte chooses the cuts, the second whether the rest is one or the other.
enum PiecesTarget {
  static func problem(with input: [UInt8]) -> String? {
    guard input.count > 1 else { return nil }
    let rest = Array(input[2...])
    return input[1] & 1 == 0
      ? textProblem(rest, Cuts(input[0])) ?? nonNumberProblem(rest) : outlineProblem(rest, Cuts(input[0]))
  }

  // MARK: - JSON

  private static func textProblem(_ text: [UInt8], _ cuts: Cuts) -> String? {
    var whole = LongText(from: 0, depth: 8, elements: 3)
    whole.advance(text.span.bytes, isWhole: true)
    var parts = LongText(from: 0, depth: 8, elements: 3)
    for part in cuts.beginnings(of: text) { parts.advance(part.span.bytes) }
    parts.advance(text.span.bytes, isWhole: true)
    guard outline(whole, text) == outline(parts, text) else { return "a text is outlined otherwise in pieces" }
    return scanProblem(text, outline(whole, text))
  }

  private static func outline(_ long: LongText, _ text: [UInt8]) -> Result<LongText.Outline, JSONError> {
    do throws(JSONError) { return .success(try long.outline(text.span.bytes)) } catch { return .failure(error) }
  }

  /// The scanner, which sees all at once, says the same.
  private static func scanProblem(_ text: [UInt8], _ outline: Result<LongText.Outline, JSONError>) -> String? {
    guard let range = try? JSONScanner.validate(text.span.bytes, depth: 8) else {
      if case .success = outline { return "a malformed text has an outline" }
      return nil
    }
    guard case .success(let outline) = outline else { return "a well-formed text has no outline" }
    guard outline.range == range else { return "the outline has other ends" }
    var values: [Range<Int>] = []
    var at = range.lowerBound
    switch text[at] {
    case UInt8(ascii: "["): try? JSONScanner.scanArray(text.span.bytes, &at) { values.append($0) }
    case UInt8(ascii: "{"): try? JSONScanner.scanObject(text.span.bytes, &at) { values.append($1) }
    default: return outline.count == 0 ? nil : "a scalar has elements"
    }
    guard outline.count == values.count, outline.elements.map(\.value) == Array(values.prefix(3)) else {
      return "the outline has other elements"
    }
    return values.isEmpty || outline.elementsEnd == values.last?.upperBound ? nil : "the elements end elsewhere"
  }

  private static func nonNumberProblem(_ text: [UInt8]) -> String? {
    guard let replaced = NonNumbers.replaced(in: text.span.bytes) else { return nil }
    if (try? JSONScanner.validate(text.span.bytes)) != nil { return "something was replaced in a well-formed text" }
    guard replaced.count <= text.count + text.count / 3 else { return "the text grew too much" }
    return NonNumbers.replaced(in: replaced.span.bytes) == nil ? nil : "something was left to be replaced"
  }

  // MARK: - MessagePack

  private static func outlineProblem(_ bytes: [UInt8], _ cuts: Cuts) -> String? {
    let whole = outline(bytes, [])
    guard outline(bytes, cuts.beginnings(of: bytes)) == whole else { return "a map is outlined otherwise in pieces" }
    guard let whole else { return nil }
    for case .some(let start) in whole where start >= bytes.count { return "a value begins behind the end" }
    return nil
  }

  /// Where the values stand; nil for what is no map.
  private static func outline(_ bytes: [UInt8], _ parts: [[UInt8]]) -> [Int?]? {
    var outline = MsgpackOutline(of: ["type", "nsp", "a"])
    do throws(MsgpackProblem) {
      for part in parts { try outline.advance(part.span.bytes, isWhole: false) }
      try outline.advance(bytes.span.bytes, isWhole: true)
    } catch { return nil }
    return outline.values
  }

  /// Where a text is cut, made up from one byte.
  private struct Cuts {
    private var state: UInt32

    init(_ seed: UInt8) { state = UInt32(seed) &* 2_654_435_761 | 1 }

    /// Longer and longer beginnings, each in memory of just its size, so that the sanitizer sees a look beyond its end.
    func beginnings(of text: [UInt8]) -> [[UInt8]] {
      var (state, count) = (state, 0)
      var parts: [[UInt8]] = []
      while count < text.count, parts.count < 64 {
        state = state &* 1_664_525 &+ 1_013_904_223
        count = min(text.count, count + Int(state >> 24) % 24 + 1)
        parts.append(Array(text[..<count]))
      }
      return parts
    }
  }
}
