/// The conversation with a server of JSON lines: the login, events, requests with their answers, and the heartbeat.
final class LinesSession: DirectSession {
  private unowned let link: DirectLink
  private let profile: LinesProfile
  private var acks = PendingAcks(next: loginID + 1)
  private var clock: LinesClock?
  /// A long line whose end has not come.
  private var long: LongText?
  /// The login is not answered.
  private var isLoggingIn = false

  /// The id of the login, the first message of all.
  private static let loginID: UInt64 = 1
  /// Where no member of a line names its event.
  private let nameless: String

  init(_ link: DirectLink, _ profile: LinesProfile) {
    self.link = link
    self.profile = profile
    nameless =
      "no member \(profile.settings.type.tomlString) of the line names its event; set lines.type to the one that does"
    clock = LinesClock(profile.settings, at: link.now)
  }

  let awaited = "the login"
  let protocols: [(name: String, revision: Int)] = []
  var heartbeat: HeartbeatSettings? { profile.settings.heartbeat.settings }
  private var names: LinesSettings { profile.settings }

  func begin(_ facts: TransportFacts) {
    guard let type = names.login.type else { return link.ready() }
    guard link.secrets?.payload == nil || link.isPrivate || names.readableLogin else {
      let way = facts.proxy.map { "through the proxy \($0)" } ?? "over tcp://"
      return link.fail(
        UpstreamFailure(
          .auth,
          "the login would travel readably \(way); use tls://, or no proxy (`proxy = \"none\"`), or set lines.readable_login"
        ))
    }
    isLoggingIn = true
    clock?.askedRequest(Self.loginID, at: link.now)
    let payload = link.secrets?.payload
    link.trace?.message(.outgoing, "LOGIN \(type)" + (payload.map { " (payload of \($0.count) bytes)" } ?? ""))
    send(profile.line(type: type, id: Self.loginID, body: payload))
  }

  // MARK: - Writing

  func write(_ message: PreparedMessage, ack: UInt64?) {
    let id = ack.map { acks.add($0) }
    if let id { clock?.askedRequest(id, at: link.now) }
    let tail = message.body[LinesProfile.markSize...]
    let kind =
      id.map { "REQUEST \($0) \(TraceDescription.name(message.event))" }
      ?? "EVENT \(TraceDescription.name(message.event))"
    link.trace?.message(.outgoing, "\(kind) (\(tail.count) bytes)", payload: tail.span.bytes)
    send(profile.head(type: message.event, id: id) + tail)
  }

  private func send(_ line: [UInt8]) { link.send(text: line.span.bytes) }
  private func sendControl(_ line: [UInt8]) { link.send(control: line.span.bytes) }

  func forget(ack: UInt64) {
    if let id = acks.forget(ack) { clock?.forget(id) }
  }

  func probe() -> Bool {
    guard let type = names.heartbeat.type else { return false }
    link.trace?.message(.outgoing, "HEARTBEAT \(type)")
    clock?.askedHeartbeat(at: link.now)
    sendControl(profile.line(type: type))
    return true
  }

  // MARK: - Reading

  func gathers(text: RawSpan) {
    if long == nil { long = LinesMessage.long(profile) }
    long?.advance(text)
  }

  func received(text: RawSpan) {
    long?.advance(text, isWhole: true)
    defer { long = nil }
    received(text, long)
  }

  private func received(_ text: RawSpan, _ long: LongText?) {
    let message: LinesMessage
    do { message = try LinesMessage(text, profile, long: long) } catch {
      if let repaired = NonNumbers.replaced(in: text) { return received(repaired.span.bytes, nil) }
      return link.fail(
        UpstreamFailure(.protocolError, "the server sent a line that is no JSON object: \(Self.place(of: error))"))
    }
    let type = message.typeText(text)
    if message.flaw != .unclear {
      if clock != nil, text.byteCount <= LongText.wordLimit { lookAtClock(message, type, text) }
      if let type, isHeartbeat(type) { return }
      if isLoggingIn { return receivedLogin(message, type, text) }
    }
    if !isLoggingIn, let id = message.number(text), id < acks.next { return receivedAnswer(id, message, text) }
    if let flaw = message.flaw { return drop(text, flaw.detail) }
    guard let type else { return drop(text, nameless) }
    trace("EVENT \(TraceDescription.name(type))", text)
    deliver(message, text)
  }

  /// Where a line is no JSON object: the server does not speak this protocol.
  private static func place(of error: JSONError) -> String {
    if case .utf8(let place) = error { return "its text is not UTF-8 at byte \(place + 1)" }
    return "at byte \(error.offset + 1)"
  }

  func received(binary: RawSpan) {}

  /// Whatever carries the time tells it; what answers a question of ours tells it best.
  private func lookAtClock(_ message: LinesMessage, _ type: String?, _ text: RawSpan) {
    let sample: ClockSample?
    if let answer = names.heartbeat.answer, type.isExactly(answer) {
      sample = clock?.answeredHeartbeat(text, at: link.now)
    } else if let id = message.number(text), id < acks.next {
      sample = clock?.answered(id, text, at: link.now)
    } else {
      sample = clock?.heard(text, at: link.now)
    }
    if let sample { link.owner?.channel(link, sampledTime: sample) }
  }

  private func drop(_ text: RawSpan, _ detail: String) {
    trace("UNREADABLE", text, detail)
    if link.isJoined { link.owner?.channel(link, dropped: DroppedEvent(.undecodable, detail: detail)) }
  }

  /// What a line is, in words, and the line itself unless it is a very long one.
  private func trace(_ words: @autoclosure () -> String, _ text: RawSpan, _ detail: String? = nil) {
    guard let trace = link.trace else { return }
    let shown = "\(words()) (\(text.byteCount) bytes)" + (detail.map { ": \($0)" } ?? "")
    guard text.byteCount <= lineLimit else { return trace.message(.incoming, shown) }
    trace.message(.incoming, shown, payload: text)
  }

  private var lineLimit: Int { link.owner?.lineLimit ?? .max }

  private func isHeartbeat(_ type: String) -> Bool {
    if let answer = names.heartbeat.answer, type.isExactly(answer) {
      link.trace?.message(.incoming, "HEARTBEAT \(type)")
      link.answeredProbe()
      return true
    }
    guard let own = names.heartbeat.type, type.isExactly(own) else { return false }
    link.trace?.message(.incoming, "HEARTBEAT \(type)")
    if let answer = names.heartbeat.answer {
      link.trace?.message(.outgoing, "HEARTBEAT \(answer)")
      sendControl(profile.line(type: answer))
    }
    return true
  }

  private func deliver(_ message: LinesMessage, _ text: RawSpan) {
    guard let type = message.type, let owner = link.owner else { return }
    let name = text.extracting(type)
    if let size = tooLong(message, owner) {
      return owner.channel(link, receivedEvent: name, tooLong: size, ack: nil)
    }
    let parts = parts(of: message, text, isEvent: true)
    guard let kwargs = parts.kwargs else {
      return owner.channel(link, receivedEvent: name, arguments: parts.args.span.bytes, ack: nil)
    }
    owner.channel(
      link, receivedEvent: name, arguments: parts.args.span.bytes, kwargs: kwargs.span.bytes, ack: nil)
  }

  /// The answer to a request. One that came before, or that the owner does not wait for any more, is passed over.
  private func receivedAnswer(_ id: UInt64, _ message: LinesMessage, _ text: RawSpan) {
    let failure = message.failure(text)
    trace("\(failure == nil ? "ANSWER" : "ERROR") \(id)", text, message.flaw?.detail)
    guard let ack = acks.take(id), let owner = link.owner else { return }
    if let failure { return owner.channel(link, failed: ack, remoteError(failure, message, text, owner)) }
    if let size = tooLong(message, owner) {
      return owner.channel(link, answered: ack, tooLong: size, isPart: false)
    }
    guard message.flaw == nil else { return owner.channel(link, answeredUnreadably: ack) }
    let parts = parts(of: message, text, isEvent: false)
    guard let kwargs = parts.kwargs else {
      return owner.channel(link, acknowledged: ack, arguments: parts.args.span.bytes)
    }
    owner.channel(link, acknowledged: ack, arguments: parts.args.span.bytes, kwargs: kwargs.span.bytes)
  }

  private func remoteError(
    _ failure: Range<Int>, _ message: LinesMessage, _ text: RawSpan, _ owner: any UpstreamChannelOwner
  ) -> RemoteError {
    if let size = tooLong(message, owner) {
      return RemoteError(LinesError.name(text, failure), RemoteAnswer(tooLong: size))
    }
    guard message.flaw == nil else { return RemoteError(LinesError.name(text, failure), .unreadable) }
    return LinesError.read(failure, text, parts(of: message, text, isEvent: false))
  }

  /// What a message takes in a line, without its id, if it does not fit into one or is too long to be mended; nil for
  /// others.
  private func tooLong(_ message: LinesMessage, _ owner: any UpstreamChannelOwner) -> Int? {
    let size = message.others.reduce((message.body?.count ?? 0) + (message.error?.count ?? 0)) { $0 + $1.count }
    return message.hasNonNumbers || size > owner.lineLimit ? size : nil
  }

  /// The argument and the other members, in the local form. What tells an answer from an event, and a failure from a
  /// success, are members like others in an event, where they mean nothing.
  private func parts(of message: LinesMessage, _ text: RawSpan, isEvent: Bool) -> RemoteAnswer {
    var others: [UInt8] = []
    for (name, value) in isEvent ? [(names.id, message.id), (names.error, message.error)] : [] {
      guard let value else { continue }
      var writer = JSONWriter()
      writer.string(name)
      if !others.isEmpty { others.append(UInt8(ascii: ",")) }
      others += writer.bytes + [UInt8(ascii: ":")] + Self.bytes(text, value)
    }
    for member in message.others {
      if !others.isEmpty { others.append(UInt8(ascii: ",")) }
      others += Self.bytes(text, member)
    }
    let object = Self.local([UInt8(ascii: "{")] + others + [UInt8(ascii: "}")])
    guard !names.body.isEmpty else { return RemoteAnswer(others.isEmpty ? [] : object) }
    let body = message.body.map { Self.local(Self.bytes(text, $0)) } ?? []
    return RemoteAnswer(body, kwargs: others.isEmpty ? nil : object)
  }

  private static func local(_ text: [UInt8]) -> [UInt8] {
    LocalForm.plain(fromServer: text.span.bytes, 0..<text.count) ?? text
  }

  private static func bytes(_ text: RawSpan, _ range: Range<Int>) -> [UInt8] {
    text.extracting(range).withUnsafeBytes { [UInt8]($0) }
  }

  // MARK: - The login

  /// What else comes before the login is answered is passed over.
  private func receivedLogin(_ message: LinesMessage, _ type: String?, _ text: RawSpan) {
    let isOurs = message.number(text) == Self.loginID
    if let refused = names.login.refused, type.isExactly(refused) { return refuse(message, text) }
    if isOurs, message.failure(text) != nil { return refuse(message, text) }
    if let accepted = names.login.accepted {
      guard type.isExactly(accepted) else { return passOver(text) }
    } else if !isOurs {
      return passOver(text)
    }
    link.trace?.message(.incoming, "LOGIN accepted (\(text.byteCount) bytes)")
    isLoggingIn = false
    link.ready()
  }

  private func isData(_ said: Range<Int>, _ message: LinesMessage) -> Bool {
    said.count <= UpstreamFailure.dataLimit && !message.hasNonNumbers && message.flaw == nil
  }

  private func passOver(_ text: RawSpan) {
    trace("BEFORE THE LOGIN", text)
  }

  private func refuse(_ message: LinesMessage, _ text: RawSpan) {
    let said = message.failure(text) ?? message.body
    let words = said.flatMap { LinesError.words(text, $0) }
    link.trace?.message(.incoming, "LOGIN refused (\(text.byteCount) bytes)")
    link.fail(
      UpstreamFailure(
        .refused, "the server refused the login" + (words.map { ": \($0.shortened(to: 200).singleLine)" } ?? ""),
        serverMessage: words,
        serverData: said.flatMap { isData($0, message) ? Self.bytes(text, $0) : nil }))
  }
}
