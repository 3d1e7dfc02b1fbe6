/// What a local program says, as the line that becomes of it, without the first part: that is decided when it is written.
struct LinesDraft {
  let profile: LinesProfile

  /// - Parameter mark: what stands in front of the body.
  func message(_ draft: MessageDraft, mark: [UInt8]) throws(MessageProblem) -> PreparedMessage {
    let own = [profile.settings.heartbeat.type, profile.settings.heartbeat.answer, profile.settings.login.type]
    if own.contains(draft.event) { throw .invalid("the type '\(draft.event)' is used by the connection itself") }
    let args = draft.args.span.bytes
    guard let elements = JSONScanner.elements(args, atMost: 1) else {
      throw .invalid("a message of this upstream has one argument or none")
    }
    let body = try elements.first.map { (element) throws(MessageProblem) in try self.body(args, element) }
    let more = try draft.kwargs.map { (kwargs) throws(MessageProblem) in try members(kwargs) } ?? []
    return PreparedMessage(event: draft.event, body: mark + profile.tail(body: body, more: more))
  }

  private func body(_ args: RawSpan, _ element: Range<Int>) throws(MessageProblem) -> [UInt8] {
    let isWhole = profile.settings.body.isEmpty
    if isWhole, JSONScanner.byte(args, element.lowerBound) != UInt8(ascii: "{") {
      throw .invalid("the argument of a message of this upstream is an object, whose members are the message's")
    }
    let text = try Self.plain(args, element)
    if isWhole { try check(text) }
    return text
  }

  private func members(_ kwargs: [UInt8]) throws(MessageProblem) -> [UInt8] {
    let text = try Self.plain(kwargs.span.bytes, 0..<kwargs.count)
    try check(text)
    return Array(LinesProfile.inside(text))
  }

  /// On one line, whatever stands between the tokens.
  private static func plain(_ text: RawSpan, _ range: Range<Int>) throws(MessageProblem) -> [UInt8] {
    try IntegerDigits.check(text, range)
    var output: [UInt8] = []
    output.reserveCapacity(range.count)
    try LocalForm.writePlain(fromClient: text, range, into: &output)
    for index in output.indices where output[index] == 10 || output[index] == 13 { output[index] = 32 }
    return output
  }

  /// A program must not write the members that the profile gives a meaning.
  private func check(_ object: [UInt8]) throws(MessageProblem) {
    let text = object.span.bytes
    var reserved: String?
    var at = 0
    JSONScanner.skipWhitespace(text, &at)
    try? JSONScanner.scanObject(text, &at) { key, _ in
      guard reserved == nil else { return }
      let name = JSONScanner.decodeString(text, key, shortenedTo: LinesProfile.memberNameLimit)
      if profile.isReserved(name) { reserved = name }
    }
    guard let reserved else { return }
    throw .invalid("the member '\(reserved)' has a meaning of its own in messages of this upstream")
  }
}
