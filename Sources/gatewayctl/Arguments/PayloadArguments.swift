import GatewayCore

/// Makes the arguments of an event from the words of the command line.
enum PayloadArguments {
  /// Levels of nesting that are left for one argument inside the request around it.
  static let depthLimit = LineDepth.argumentLimit

  /// A raw JSON array. `read` gives the bytes behind `@FILE`, `-`, `--text FILE` and `--binary FILE`.
  static func array(
    of words: [String], asText: Bool, texts: [String] = [], binaries: [String],
    read: (String) throws(Failure) -> [UInt8] = InputFile.read
  ) throws(Failure) -> [UInt8] {
    guard (words + texts + binaries).count(where: { $0 == "-" }) < 2 else {
      throw Failure(.usage, "standard input can be read only once; use - for one argument")
    }
    var writer = JSONWriter()
    writer.beginArray()
    for (index, word) in words.enumerated() {
      if asText {
        writer.string(word == "-" ? try text(of: word, read) : word)
      } else {
        try write(word, number: index + 1, into: &writer, read)
      }
    }
    for file in texts { writer.string(try text(of: file, read)) }
    for file in binaries {
      writer.raw(binary(try read(file)))
    }
    writer.endArray()
    return writer.bytes
  }

  /// What a file holds, every byte of it, as one text.
  private static func text(
    of file: String, _ read: (String) throws(Failure) -> [UInt8]
  ) throws(Failure) -> String {
    guard let text = String(validating: try read(file), as: UTF8.self) else {
      let name = file == "-" ? "standard input" : "the file '\(file)'"
      throw Failure(.badInput, "\(name) is not valid UTF-8; write it in UTF-8, or send bytes with --binary FILE")
    }
    return text
  }

  /// A raw JSON object, from a word as an argument is.
  static func object(
    _ word: String, of option: OptionName = .kwargs,
    read: (String) throws(Failure) -> [UInt8] = InputFile.read
  ) throws(Failure) -> [UInt8] {
    let name = word == "-" ? "standard input" : word.hasPrefix("@") ? String(word.dropFirst()) : "--\(option.rawValue)"
    let text = word == "-" ? try read("-") : word.hasPrefix("@") ? try read(name) : Array(word.utf8)
    let value = try json(text, named: name, advice: "write it as {\"name\":value}")
    guard value.first == UInt8(ascii: "{") else {
      throw Failure(.badInput, "\(name) is no JSON object; write it as {\"name\":value}")
    }
    return value
  }

  /// An element of `enter` or `leave`, from `[EVENT, ARG…]` or from the object that the local protocol has for it; of
  /// `leave` also `null`. `read` gives the bytes behind `@FILE`.
  static func message(
    _ word: String, of option: OptionName, read: (String) throws(Failure) -> [UInt8] = InputFile.read
  ) throws(Failure) -> [UInt8] {
    let isFile = word.hasPrefix("@")
    let name = isFile ? String(word.dropFirst()) : "--\(option.rawValue)"
    let advice = "write it as [\"EVENT\",ARG…]"
    let text = try json(isFile ? try read(name) : Array(word.utf8), named: name, advice: advice)
    if text.first == UInt8(ascii: "{") || option == .leave && text == Array("null".utf8) { return text }
    guard let elements = RawJSONObject.elements(of: text), let event = elements.first,
      event.first == UInt8(ascii: "\"")
    else {
      // What a file holds may be a secret.
      let what = isFile ? name : "\(name) '\(word)'"
      throw Failure(.badInput, "\(what) has no event at its beginning; \(advice)")
    }
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("event")
    writer.raw(event)
    writer.key("args")
    writer.beginArray()
    for element in elements.dropFirst() { writer.raw(element) }
    writer.endArray()
    writer.endObject()
    return writer.bytes
  }

  private static func write(
    _ word: String, number: Int, into writer: inout JSONWriter, _ read: (String) throws(Failure) -> [UInt8]
  ) throws(Failure) {
    if word == "-" {
      return writer.raw(try json(try read("-"), named: "standard input", advice: "check what was sent there"))
    }
    if word.hasPrefix("@") {
      let file = String(word.dropFirst())
      let advice = "use --raw to send '\(word)' as text"
      let text: [UInt8]
      do throws(Failure) { text = try read(file) } catch {
        throw Failure(error.code, error.message.map { "\($0), or \(advice)" } ?? advice)
      }
      return writer.raw(try json(text, named: file, advice: "repair it, or \(advice)"))
    }
    let bytes = Array(word.utf8)
    if let first = bytes.first, "{[\"".utf8.contains(first) {
      return writer.raw(
        try json(bytes, named: "argument \(number)", advice: "repair it, or use --raw to send it as text"))
    }
    if let raw = try? json(bytes, named: "", advice: "") { writer.raw(raw) } else { writer.string(word) }
  }

  /// The text of one JSON value, on one line; otherwise says where it stops being JSON.
  static func json(_ text: [UInt8], named name: String, advice: String) throws(Failure) -> [UInt8] {
    do {
      let range = try JSONScanner.validate(text.span.bytes, depth: depthLimit)
      return onOneLine(text[range])
    } catch {
      throw Failure(.badInput, "\(name) is no JSON: \(describe(error, in: text)); \(advice)")
    }
  }

  /// Line feeds stand between the tokens of valid JSON only, where a space does as well.
  private static func onOneLine(_ text: ArraySlice<UInt8>) -> [UInt8] {
    text.map { $0 == 0x0a || $0 == 0x0d ? 0x20 : $0 }
  }

  /// What is wrong and at which byte, counted from 1; in a text of several lines also the line.
  static func describe(_ error: JSONError, in text: [UInt8]) -> String {
    let before = text.prefix(error.offset)
    let line = before.count { $0 == 0x0a } + 1
    let column = before.count - (before.lastIndex(of: 0x0a).map { $0 + 1 } ?? 0) + 1
    let place = text.contains(0x0a) ? "at line \(line), byte \(column)" : "at byte \(column)"
    switch error {
    case .syntax where error.offset >= text.count: return "it ends too early, \(place)"
    case .syntax:
      let byte = text[error.offset]
      let seen = (0x21...0x7e).contains(byte) ? "'\(Character(Unicode.Scalar(byte)))' stands" : "something stands"
      return "\(seen) \(place) where it may not"
    case .utf8: return "the text is not UTF-8 \(place)"
    case .depth: return "it is nested too deeply \(place)"
    case .duplicateKey: return "a key is repeated \(place)"
    case .tooLong(let limit): return "it has more than \(limit) bytes"
    }
  }

  /// Bytes as the local protocol writes them.
  static func binary(_ bytes: [UInt8]) -> [UInt8] {
    var text: [UInt8] = Array(#"{"$bin":""#.utf8)
    Base64.encode(bytes.span.bytes, into: &text)
    text += #""}"#.utf8
    return text
  }
}
