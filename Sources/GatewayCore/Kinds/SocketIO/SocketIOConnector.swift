/// Prepares the messages of one connection and dials its channels. Remembers over reconnects what the server's last
/// handshake said, so that a message which the server would answer by closing the link is refused before it is queued.
final class SocketIOConnector: UpstreamConnector {
  let key: LinkKey
  let links: SocketIOLinks
  let credentials: UpstreamCredentials
  private let namespace: String
  private let attachmentLimit: Int
  private var revision: EngineIORevision?
  /// What carries messages now, or did the last time.
  var transport = TransportName.websocket
  /// The largest message that the server takes, in bytes; nil before the first handshake.
  private var sizeLimit: Int?
  /// The newest one, for as long as it is there.
  private var channel: LightReference<SocketIOChannel>?
  /// What the next channel needs to go on where this one ends.
  var recovery = SocketIORecovery()
  var resumption: Resumption? {
    get { recovery.resumption }
    set { recovery = SocketIORecovery(newValue) }
  }
  private lazy var watch = CredentialWatch(credentials, timers: links.timers)
  let refresh: RefreshSettings
  let serverTime: ServerTimeSettings
  var observer: (any UpstreamObserver)? {
    didSet { channel?.object?.observerChanged() }
  }

  init(_ specification: UpstreamSpecification, links: SocketIOLinks, readings: CredentialReads) {
    key = LinkKey(specification)
    self.links = links
    credentials = UpstreamCredentials(specification, readings: readings)
    refresh = specification.settings.refresh
    serverTime = specification.settings.serverTime
    namespace = specification.namespace
    attachmentLimit = specification.settings.attachments
  }

  var kind: String { "socketio" }
  var hosts: [String] {
    key.places.map { links.dialer.firstHost(of: key.at($0).request(revision ?? .four, .websocket)) }
  }

  var route: DialRequest { key.request(.four, .websocket) }

  /// The namespace as packets name it; empty for the main one. In revision 3 a `?` begins the query of its CONNECT.
  func wireNamespace(_ revision: EngineIORevision?) -> [UInt8] {
    guard namespace != "/" else { return [] }
    guard revision == .three else { return [UInt8](namespace.utf8) }
    let bare = [UInt8](namespace.utf8.prefix { $0 != UInt8(ascii: "?") })
    return bare == [UInt8(ascii: "/")] ? [] : bare
  }

  /// What follows the namespace's `?`, for revision 3.
  var namespaceQuery: String? {
    let query = namespace.parts(before: "?").1
    return query.isEmpty ? nil : String(query.unicodeScalars.dropFirst())
  }

  /// The link's handshake, each time a channel of this connection is about to join.
  func learn(revision: EngineIORevision, maxPayload: Int?, transport: TransportName) {
    self.revision = revision
    self.transport = transport
    sizeLimit = maxPayload ?? revision.usualPayloadLimit
  }

  func prepare(_ draft: MessageDraft) throws(MessageProblem) -> PreparedMessage {
    guard draft.kwargs == nil else { throw SocketIOMessage.noKeywords }
    let message = try message(draft)
    if let problem = sizeProblem(message, acknowledged: draft.isAcknowledged) { throw problem }
    return message
  }

  /// Plain JSON is carried as it came; MessagePack is made of each value.
  var partsLimit: Int { key.parser == .json ? .max : 1 << 20 }

  private func message(_ draft: MessageDraft) throws(MessageProblem) -> PreparedMessage {
    if draft.argsArePlain, draft.args.count >= LineBuffer.longLine,
      let message = try SocketIOMessage.event(
        draft.event, plain: draft.args, revision: revision, parser: key.parser)
    {
      return message
    }
    return try SocketIOMessage.event(
      draft.event, args: draft.args.span.bytes, arePlain: draft.argsArePlain, attachmentLimit: attachmentLimit,
      revision: revision, parser: key.parser)
  }

  func prepareAnswer(_ draft: AnswerDraft) throws(MessageProblem) -> PreparedMessage {
    guard draft.kwargs == nil else { throw SocketIOMessage.noKeywords }
    guard draft.error == nil else { throw SocketIOMessage.noErrors }
    let message = try SocketIOMessage.answer(
      args: draft.args.span.bytes, attachmentLimit: attachmentLimit, parser: key.parser)
    if let problem = sizeProblem(message, acknowledged: true) { throw problem }
    return message
  }

  func check(_ message: PreparedMessage, acknowledged: Bool) -> MessageProblem? {
    SocketIOMessage.problem(withFormOf: message, parser: key.parser)
      ?? SocketIOMessage.problem(withName: message.event, revision: revision)
      ?? sizeProblem(message, acknowledged: acknowledged)
  }

  func dial(owner: any UpstreamChannelOwner) -> any UpstreamChannel {
    watch.stop()
    let channel = SocketIOChannel(connector: self, owner: owner)
    self.channel = channel.reference
    channel.start()
    return channel
  }

  func awaitNewCredentials(_ done: @escaping () -> Void) { watch.start(done) }

  private func sizeProblem(_ message: PreparedMessage, acknowledged: Bool) -> MessageProblem? {
    SocketIOMessage.problem(
      withSizeOf: message, namespace: wireNamespace(revision),
      ackDigits: acknowledged ? ackDigits(message) : 0, revision: revision, transport: transport, limit: sizeLimit,
      parser: key.parser)
  }

  /// A request carries our next id; an answer, which has no event, carries one of the server's, of any length.
  private func ackDigits(_ message: PreparedMessage) -> Int {
    SocketIOEncoder.digits(message.event.isEmpty ? .max : channel?.object?.nextAck ?? 0)
  }
}
