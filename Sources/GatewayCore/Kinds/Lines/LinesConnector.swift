/// Prepares the messages of one server of JSON lines and dials it.
final class LinesConnector: UpstreamConnector {
  private let way: DirectConnectorState
  private let profile: LinesProfile
  /// In front of a body, also after a restart: it shows which kind of upstream a message was prepared for, and with
  /// which names of members.
  private let mark: [UInt8]

  init(_ specification: UpstreamSpecification, seams: DirectSeams) {
    way = DirectConnectorState(specification, seams: seams, layer: TraceFact.Layer(rawValue: "lines")) { _ in "" }
    profile = LinesProfile(specification.settings.lines)
    mark = profile.mark
  }

  var kind: String { LinesKind.traits.name }
  var hosts: [String] { way.hosts }
  var route: DialRequest { way.route }
  /// Nothing but a login is answered at the beginning.
  var isAnswered: Bool { profile.settings.login.type != nil }
  var observer: (any UpstreamObserver)? {
    get { way.observer }
    set { way.observer = newValue }
  }

  func prepare(_ draft: MessageDraft) throws(MessageProblem) -> PreparedMessage {
    let own = [profile.settings.heartbeat.type, profile.settings.heartbeat.answer, profile.settings.login.type]
    if own.contains(draft.event) { throw .invalid("the type '\(draft.event)' is used by the connection itself") }
    let args = draft.args.span.bytes
    guard let elements = JSONScanner.elements(args), elements.count <= 1 else {
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

  func prepareAnswer(_ draft: AnswerDraft) throws(MessageProblem) -> PreparedMessage {
    throw .invalid("a server of JSON lines asks for no acknowledgements")
  }

  func check(_ message: PreparedMessage, acknowledged: Bool) -> MessageProblem? {
    guard message.body.first == mark.first else {
      return .outdated("the upstream became one of JSON lines while this waited, which was written for something else")
    }
    guard message.body.starts(with: mark) else {
      return .outdated("`lines` of the upstream changed while this waited, which was written with other members")
    }
    return nil
  }

  func awaitNewCredentials(_ done: @escaping () -> Void) { way.awaitNewCredentials(done) }

  func dial(owner: any UpstreamChannelOwner) -> any UpstreamChannel {
    let profile = profile
    return way.dial(owner: owner) { LinesSession($0, profile) }
  }
}
