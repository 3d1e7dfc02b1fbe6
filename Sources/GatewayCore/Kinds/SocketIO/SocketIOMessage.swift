/// Turns a local program's events and answers into what is written, and refuses whatever would make a server close the
/// link that others share.
enum SocketIOMessage {
  static let noKeywords = MessageProblem.invalid(
    "Socket.IO has no keyword arguments: leave `kwargs` out, and put what it says into `args`")
  static let noErrors = MessageProblem.invalid(
    "an acknowledgement of Socket.IO cannot be an error: leave `error` (`--error`) out, and say it in `args`")

  /// An event: its name joins the arguments in one array. `arePlain`: they are known to hold no binary data.
  static func event(
    _ name: String, args: RawSpan, arePlain: Bool = false, attachmentLimit: Int, revision: EngineIORevision?,
    parser: ParserName = .json
  ) throws(MessageProblem) -> PreparedMessage {
    if let problem = problem(withName: name, revision: revision) { throw problem }
    return try message(name, args: args, arePlain: arePlain, attachmentLimit: attachmentLimit, parser: parser)
  }

  /// The same for long arguments of which is known that they need no other form: they stay where they are. Nil where
  /// they are not written compactly at their ends, which is for the other one.
  static func event(
    _ name: String, plain args: [UInt8], revision: EngineIORevision?, parser: ParserName
  ) throws(MessageProblem) -> PreparedMessage? {
    guard parser == .json, let elements = elements(args.span.bytes), !elements.isEmpty,
      elements == 1..<args.count - 1
    else { return nil }
    if let problem = problem(withName: name, revision: revision) { throw problem }
    var writer = JSONWriter(reserving: name.utf8.count + 8)
    writer.beginArray()
    writer.string(name)
    var head = writer.bytes
    head.append(UInt8(ascii: ","))
    return PreparedMessage(event: name, head: head, tail: args[1...])
  }

  /// The arguments of an acknowledgement.
  static func answer(
    args: RawSpan, attachmentLimit: Int, parser: ParserName = .json
  ) throws(MessageProblem) -> PreparedMessage {
    try message(nil, args: args, attachmentLimit: attachmentLimit, parser: parser)
  }

  /// Whether a server of this revision would take offence at the event's name; nil means that it would not.
  static func problem(withName name: String, revision: EngineIORevision?) -> MessageProblem? {
    guard SocketIOEventName.isReserved(name, revision: revision) else { return nil }
    return .invalid("the event name \(name) is reserved by Socket.IO; choose another")
  }

  /// Whether a message waited while its upstream got another parser: its bytes mean nothing to the server any more.
  /// They show their form themselves, also after a restart: JSON's array begins with a bracket, MessagePack's never
  /// does.
  static func problem(withFormOf message: PreparedMessage, parser: ParserName) -> MessageProblem? {
    let form = message.head.first == UInt8(ascii: "[") ? ParserName.json : .msgpack
    guard form != parser else { return nil }
    return .outdated(
      "the upstream's parser became \(parser.rawValue) while this waited, which was written for \(form.rawValue)")
  }

  /// Checks a message against the largest one that the server takes. Text and attachments count separately, as they
  /// travel separately; by long-polling each counts as it stands in a POST of its own.
  static func problem(
    withSizeOf message: PreparedMessage, namespace: [UInt8], ackDigits: Int, revision: EngineIORevision?,
    transport: TransportName, limit: Int?, parser: ParserName = .json
  ) -> MessageProblem? {
    guard let limit else { return nil }
    let prefix = revision == .three ? 1 : 0
    let size: (Int, Bool) -> Int = { count, isBinary in
      guard transport == .polling else { return count }
      return PollingOutbox.size(ofMessage: count, isBinary: isBinary, revision ?? .four)
    }
    let largest: Int
    switch parser {
    case .json:
      let text = size(SocketIOEncoder.size(of: message, namespace: namespace, ackDigits: ackDigits), false)
      let hasAttachments = message.attachmentCount > 0
      largest = hasAttachments ? max(text, size(message.largestAttachment + prefix, true)) : text
    case .msgpack:
      largest = size(MsgpackPacket.sizeLimit(dataCount: message.bodyCount, namespace: namespace) + prefix, true)
    }
    return largest > limit ? .tooLarge(limit: limit, size: largest) : nil
  }

  private static func message(
    _ name: String?, args: RawSpan, arePlain: Bool = false, attachmentLimit: Int, parser: ParserName
  ) throws(MessageProblem) -> PreparedMessage {
    guard let elements = elements(args) else { throw .invalid("args must be an array") }
    if let name, arePlain, parser == .json, !JSONEscapes.areNeeded(by: name.utf8Span.span.bytes) {
      return PreparedMessage(event: name, body: plain(name.utf8Span.span.bytes, args.extracting(elements)))
    }
    var body: [UInt8] = []
    body.reserveCapacity((name?.utf8.count ?? 0) + elements.count + 8)
    body.append(UInt8(ascii: "["))
    if let name {
      body.append(UInt8(ascii: "\""))
      name.utf8Span.span.withUnsafeBufferPointer { body.append(escaping: $0) }
      body.append(UInt8(ascii: "\""))
      if !elements.isEmpty { body.append(UInt8(ascii: ",")) }
    }
    if parser == .msgpack {
      body.append(args.extracting(elements))
      body.append(UInt8(ascii: "]"))
      return PreparedMessage(
        event: name ?? "", body: try MsgpackWriter.write(body.span.bytes, binaryLimit: attachmentLimit))
    }
    var attachments: [[UInt8]] = []
    if arePlain {
      body.append(args.extracting(elements))
    } else {
      attachments = try LocalForm.write(fromClient: args, elements, attachmentLimit: attachmentLimit, into: &body)
    }
    body.append(UInt8(ascii: "]"))
    return PreparedMessage(event: name ?? "", body: body, attachments: attachments)
  }

  /// An event that is written as it came.
  private static func plain(_ name: RawSpan, _ elements: RawSpan) -> [UInt8] {
    var body: [UInt8] = []
    body.append(room: name.byteCount + elements.byteCount + 5) { out in
      out.put("[\"")
      out.put(name)
      out.put("\"")
      if !elements.isEmpty { out.put(",") }
      out.put(elements)
      out.put("]")
    }
    return body
  }

  /// What stands between the brackets of an array, without the white space at its ends.
  private static func elements(_ args: RawSpan) -> Range<Int>? {
    var start = 0
    JSONScanner.skipWhitespace(args, &start)
    guard JSONScanner.byte(args, start) == UInt8(ascii: "[") else { return nil }
    start += 1
    JSONScanner.skipWhitespace(args, &start)
    var end = args.byteCount
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x0a || $0 == 0x0d || $0 == 0x09 }
    while end > start, isSpace(JSONScanner.byte(args, end - 1)) { end -= 1 }
    guard end > start, JSONScanner.byte(args, end - 1) == UInt8(ascii: "]") else { return nil }
    end -= 1
    while end > start, isSpace(JSONScanner.byte(args, end - 1)) { end -= 1 }
    return start..<end
  }
}
