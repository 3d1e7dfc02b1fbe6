@testable import GatewayCore

/// Any bytes as JSON text, as a string to be written, and as Base64.
enum JSONTarget {
  static func problem(with input: [UInt8]) -> String? {
    valueProblem(input) ?? progressProblem(input) ?? deepProblem(input) ?? stringProblem(input) ?? base64Problem(input)
  }

  private static func valueProblem(_ input: [UInt8]) -> String? {
    let range: Range<Int>
    do {
      range = try JSONScanner.validate(input.span.bytes)
    } catch {
      guard (0...input.count).contains(error.offset) else { return "an error lies outside of the text" }
      return result(of: input) == .failure(error) ? nil : "the value was read differently from what the scanner said"
    }
    guard String(validating: input, as: UTF8.self) != nil else { return "malformed UTF-8 was accepted" }
    guard case .success(let value) = result(of: input) else { return "the value was refused, the text was not" }
    let text = Array(input[range])
    guard result(of: text) == .success(value) else { return "the value changed without the space around it" }
    guard result(of: Array(text.dropLast())) != .success(value) else { return "the last byte does not matter" }
    return notesProblem(text) ?? rewriteProblem(value) ?? partsProblem(text, value)
  }

  /// What is noted on the way over a value is what a look at all of it finds.
  private static func notesProblem(_ text: [UInt8]) -> String? {
    var (at, notes) = (0, JSONScanner.Notes())
    _ = try? JSONScanner.scanValue(text.span.bytes, &at, depth: JSONScanner.depthLimit, &notes)
    // In strings they are refused.
    guard notes.hasLineEnds == text.contains(where: { $0 == 10 || $0 == 13 }) else {
      return "line ends were noted wrongly"
    }
    guard !notes.hasMarks else { return nil }
    var isMarked = false
    MarkedObject.forEach(in: text.span.bytes, 0..<text.count) { if $0.dollars != nil { isMarked = true } }
    return isMarked ? "a marked object was not noted" : nil
  }

  /// A value that comes in pieces is judged as when it is whole. The first two bytes choose the cuts and the depth.
  private static func progressProblem(_ input: [UInt8]) -> String? {
    guard input.count > 2 else { return nil }
    let text = Array(input.dropFirst(2).drop { [0x20, 0x09, 0x0a, 0x0d].contains($0) })
    let depth = input[1] < 0x80 ? Int(input[1]) % 8 : JSONScanner.depthLimit
    let expected: JSONProgress.Outcome
    do {
      var at = 0
      expected = .ended(at: try JSONScanner.scanValue(text.span.bytes, &at, depth: depth).upperBound)
    } catch { expected = .broken(error) }
    for longest in [1, 16, 64] {
      var progress = JSONProgress(from: 0, depth: depth)
      var (state, count) = (UInt32(input[0]) | 1, 0)
      while count < text.count {
        state = state &* 1_664_525 &+ 1_013_904_223
        count = min(text.count, count + Int(state >> 24) % longest + 1)
        // Of just this size, so that the sanitizer sees a look beyond its end.
        let come = Array(text[..<count])
        progress.advance(come.span.bytes)
      }
      progress.advance(text.span.bytes, isWhole: true)
      guard progress.outcome == expected else { return "a value is judged otherwise when it comes in pieces" }
    }
    return nil
  }

  /// However deeply a text is nested, it is judged as where its elements are listed.
  private static func deepProblem(_ input: [UInt8]) -> String? {
    let isListed = JSONScanner.parts(ofDeep: input.span.bytes) != nil
    return JSONScanner.isJSON(atAnyDepth: input.span.bytes) == isListed ? nil : "a deep text is judged in two ways"
  }

  private static func result(of text: [UInt8]) -> Result<JSONValue, JSONError> {
    do { return .success(try JSONValue.parse(text.span.bytes, limit: .max)) } catch { return .failure(error) }
  }

  private static func write(_ value: JSONValue) -> [UInt8] {
    var writer = JSONWriter()
    value.write(into: &writer)
    return writer.bytes
  }

  private static func rewriteProblem(_ value: JSONValue) -> String? {
    let written = write(value)
    guard case .success(let again) = result(of: written) else { return "what was written is not accepted" }
    guard again == value else { return "what was written reads differently" }
    return write(again) == written ? nil : "what was written is not stable"
  }

  /// Objects and arrays, member by member.
  private static func partsProblem(_ text: [UInt8], _ value: JSONValue) -> String? {
    switch value {
    case .object(let members): objectProblem(text, members)
    case .array(let elements): arrayProblem(text, elements)
    case .number(let digits):
      JSONScanner.integer(text.span.bytes, 0..<text.count) == Int64(digits)
        ? nil : "an integer was read differently"
    case .string(let string):
      JSONScanner.decodeString(text.span.bytes, 0..<text.count) == string ? nil : "a string was read differently"
    case .null, .bool: nil
    }
  }

  private static func objectProblem(_ text: [UInt8], _ members: [JSONValue.Member]) -> String? {
    var at = 0
    var found: [JSONValue.Member] = []
    var keys: [[UInt8]] = []
    do {
      try JSONScanner.scanObject(text.span.bytes, &at) { key, value throws(JSONError) in
        let decoded = JSONScanner.decodeBytes(text.span.bytes, key).bytes
        keys.append(decoded)
        found.append(.init(String(decoding: decoded, as: UTF8.self), try JSONValue.parse(text[value])))
      }
    } catch { return "an accepted object cannot be scanned" }
    guard at == text.count, found == members else { return "an object has other members when it is scanned" }
    at = 0
    var refused = false
    do { try JSONScanner.scanObject(text.span.bytes, &at, refuseDuplicates: true) { _, _ throws(JSONError) in } } catch
    { refused = true }
    return refused == (Set(keys).count < keys.count) ? nil : "duplicate keys were judged wrongly"
  }

  private static func arrayProblem(_ text: [UInt8], _ elements: [JSONValue]) -> String? {
    var at = 0
    var found: [JSONValue] = []
    do {
      try JSONScanner.scanArray(text.span.bytes, &at) { element throws(JSONError) in
        found.append(try JSONValue.parse(text[element]))
      }
    } catch { return "an accepted array cannot be scanned" }
    return at == text.count && found == elements ? nil : "an array has other elements when it is scanned"
  }

  private static func stringProblem(_ input: [UInt8]) -> String? {
    let string = String(decoding: input, as: UTF8.self)
    var writer = JSONWriter(reserving: 0)
    writer.string(string)
    guard case .success(.string(let again)) = result(of: writer.bytes) else {
      return "a written string is not accepted"
    }
    return again.utf8.elementsEqual(string.utf8) ? nil : "a written string reads differently"
  }

  private static func base64Problem(_ input: [UInt8]) -> String? {
    var encoded: [UInt8] = []
    Base64.encode(input.span.bytes, into: &encoded)
    guard Base64.decode(encoded.span.bytes) == input else { return "Base64 does not come back" }
    guard let decoded = Base64.decode(input.span.bytes) else { return nil }
    var again: [UInt8] = []
    Base64.encode(decoded.span.bytes, into: &again)
    return again == input ? nil : "two Base64 texts mean the same"
  }
}

extension JSONValue {
  fileprivate static func parse(_ text: ArraySlice<UInt8>) throws(JSONError) -> JSONValue {
    try parse(Array(text).span.bytes, limit: .max)
  }
}
