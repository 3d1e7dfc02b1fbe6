/// Replaces known secrets in texts that are shown.
struct Redaction: Equatable {
  /// What stands in their place.
  static let mark = ShownAddress.mark
  /// Shorter secrets are not searched for: they would be found everywhere.
  static let shortest = 4
  /// Most secrets that are searched for. With more of them no text is shown at all.
  static let limit = 128
  private var secrets: Set<[UInt8]> = []
  private var hasTooMany = false

  /// Remembers a secret, as it is and as JSON writes it.
  mutating func add(_ secret: String) {
    let bytes = [UInt8](secret.utf8)
    guard bytes.count >= Self.shortest, !secrets.contains(bytes) else { return }
    guard secrets.count < Self.limit else { return hasTooMany = true }
    secrets.insert(bytes)
    var writer = JSONWriter()
    writer.string(secret)
    secrets.insert([UInt8](writer.bytes.dropFirst().dropLast()))
  }

  /// Remembers every text and number in a JSON value.
  mutating func add(json: [UInt8]) {
    guard let value = try? JSONValue.parse(json.span.bytes, limit: .max) else { return }
    add(value)
  }

  private mutating func add(_ value: JSONValue) {
    switch value {
    case .null, .bool: break
    case .number(let text), .string(let text): add(text)
    case .array(let elements): for element in elements { add(element) }
    case .object(let members): for member in members { add(member.value) }
    }
  }

  /// The value of a header. A scheme such as `Bearer` is no secret, what follows it is.
  mutating func add(_ header: HTTPHeader) {
    add(header.value)
    if let space = header.value.firstIndex(of: " ") { add(String(header.value[header.value.index(after: space)...])) }
  }

  /// The values of the headers and of the query of a request.
  mutating func add(_ request: DialRequest) {
    for header in request.headers { add(header) }
    add(target: request.target)
  }

  /// The values of a path and query, as they stand there and as the server reads them, but for the protocol's own.
  mutating func add(target: String) {
    for pair in Self.pairs(target) where !Self.protocols.contains(pair.name) {
      add(pair.value)
      add(PercentEncoding.decode(pair.value))
    }
  }

  /// Whether a secret stands in the text, or may.
  func occurs(in text: [UInt8]) -> Bool { hasTooMany && !text.isEmpty || hidden(in: text).contains(true) }

  /// The text with every secret replaced.
  func apply(to text: [UInt8]) -> [UInt8] { replaced(text, upTo: text.count) }

  /// The beginning of a text with every secret replaced, at most `limit` bytes and a sign that more followed. What is
  /// not shown is not searched either.
  func shown(_ text: RawSpan, limit: Int) -> String {
    guard !hasTooMany else { return text.byteCount == 0 ? "" : Self.mark }
    let longest = UnescapedText.longestEscape * secrets.reduce(0) { max($0, $1.count) }
    // One more than is shown, by which it is known whether the last character is whole.
    let searched = min(text.byteCount, limit + max(1, longest))
    let isCut = searched < text.byteCount
    let bytes = text.extracting(0..<searched).withUnsafeBytes { [UInt8]($0) }
    // The end may hold the beginning of a secret that could not be recognised.
    let part = replaced(bytes, upTo: isCut ? searched - max(0, longest - 1) : searched)
    guard isCut, part.count <= limit else { return String(shortening: part.span.bytes, to: limit) }
    return String(decoding: part, as: UTF8.self) + String.cutMark
  }

  /// So many bytes of a text with every secret in it replaced, and the whole of one that begins there.
  private func replaced(_ text: [UInt8], upTo end: Int) -> [UInt8] {
    let hidden = hidden(in: text)
    var result: [UInt8] = []
    for at in 0..<end {
      if !hidden[at] {
        result.append(text[at])
      } else if at == 0 || !hidden[at - 1] {
        result += Self.mark.utf8
      }
    }
    return result
  }

  /// Which bytes of a text belong to a secret, as it stands or with any of its characters escaped as JSON allows.
  private func hidden(in text: [UInt8]) -> [Bool] {
    var hidden = [Bool](repeating: false, count: text.count)
    let unescaped = UnescapedText(text)
    for secret in secrets {
      for start in Self.places(of: secret, in: text) {
        for at in start..<start + secret.count { hidden[at] = true }
      }
      guard let unescaped else { continue }
      for start in Self.places(of: secret, in: unescaped.bytes) {
        for at in unescaped.origins[start]..<unescaped.origins[start + secret.count] { hidden[at] = true }
      }
    }
    return hidden
  }

  /// Where a secret begins, again behind each.
  private static func places(of secret: [UInt8], in text: [UInt8]) -> [Int] {
    guard let first = secret.first, text.count >= secret.count else { return [] }
    var places: [Int] = []
    var at = 0
    while at <= text.count - secret.count {
      if text[at] == first, text[at..<at + secret.count].elementsEqual(secret) {
        places.append(at)
        at += secret.count
      } else {
        at += 1
      }
    }
    return places
  }

  // MARK: - Requests

  /// Path and query of a request with every value replaced but the protocol's own.
  static func shown(target: String) -> String {
    ShownAddress.target(target, open: protocols)
  }

  /// The parameters of Engine.IO's own.
  private static let protocols: Set<String> = ["EIO", "transport", "b64"]

  private static func pairs(_ target: String) -> [(name: String, value: String)] {
    guard let mark = target.firstIndex(of: "?") else { return [] }
    return target[target.index(after: mark)...].split(separator: "&").map { pair in
      let equals = pair.firstIndex(of: "=") ?? pair.endIndex
      let value = pair[equals...].dropFirst()
      // Without a value the whole may be a secret.
      return value.allSatisfy { $0 == "=" } ? ("", String(pair)) : (String(pair[..<equals]), String(value))
    }
  }
}

/// A text with everything decoded that is an escape in JSON, also where the text is no JSON.
private struct UnescapedText {
  /// Most bytes that stand for one: `\u0061` is `a`.
  static let longestEscape = 6

  private(set) var bytes: [UInt8] = []
  /// Where in the text each of them comes from, and the text's end.
  private(set) var origins: [Int] = []

  /// Nil for a text without escapes.
  init?(_ text: [UInt8]) {
    guard text.contains(UInt8(ascii: "\\")) else { return nil }
    let span = text.span.bytes
    var at = 0
    while at < text.count {
      let start = at
      at += 1
      if text[start] == UInt8(ascii: "\\") {
        let scalar = JSONScanner.decodeEscape(span, &at, end: text.count) ?? "\u{FFFD}"
        bytes.append(contentsOf: Unicode.UTF8.encode(scalar) ?? .init())
      } else {
        bytes.append(text[start])
      }
      while origins.count < bytes.count { origins.append(start) }
    }
    origins.append(text.count)
  }
}
