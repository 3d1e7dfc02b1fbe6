/// Prepares the messages of one connection and dials its channels. Remembers over reconnects what the server's last
/// handshake said, so that a message which the server would answer by closing the link is refused before it is queued.
final class SocketIOConnector: UpstreamConnector {
  let key: LinkKey
  let links: SocketIOLinks
  private let credentials: any CredentialReader
  private let namespace: String
  private let attachmentLimit: Int
  private var revision: EngineIORevision?
  /// The largest message that the server takes, in bytes; nil before the first handshake.
  private var sizeLimit: Int?
  private weak var channel: SocketIOChannel?
  var observer: (any UpstreamObserver)? {
    didSet { channel?.observerChanged() }
  }

  init(_ specification: UpstreamSpecification, links: SocketIOLinks, credentials: any CredentialReader) {
    key = LinkKey(specification)
    self.links = links
    self.credentials = credentials
    namespace = specification.namespace
    attachmentLimit = specification.settings.attachments
  }

  var kind: String { "socketio" }
  var hosts: [String] { [links.dialer.firstHost(of: key.request(revision ?? .four))] }

  /// The namespace as packets name it; empty for the main one. In revision 3 a `?` begins the query of its CONNECT.
  func wireNamespace(_ revision: EngineIORevision?) -> [UInt8] {
    guard namespace != "/" else { return [] }
    guard revision == .three else { return [UInt8](namespace.utf8) }
    let bare = [UInt8](namespace.utf8.prefix { $0 != UInt8(ascii: "?") })
    return bare == [UInt8(ascii: "/")] ? [] : bare
  }

  /// What follows the namespace's `?`, for revision 3.
  var namespaceQuery: String? {
    namespace.firstIndex(of: "?").map { String(namespace[namespace.index(after: $0)...]) }
  }

  /// The link's handshake, each time a channel of this connection is about to join.
  func learn(revision: EngineIORevision, maxPayload: Int?) {
    self.revision = revision
    sizeLimit = maxPayload ?? revision.usualPayloadLimit
  }

  func prepare(event: String, args: RawSpan, acknowledged: Bool) throws(MessageProblem) -> PreparedMessage {
    let message = try SocketIOMessage.event(
      event, args: args, attachmentLimit: attachmentLimit, revision: revision)
    if let problem = sizeProblem(message, acknowledged: acknowledged) { throw problem }
    return message
  }

  func prepareAnswer(args: RawSpan) throws(MessageProblem) -> PreparedMessage {
    let message = try SocketIOMessage.answer(args: args, attachmentLimit: attachmentLimit)
    if let problem = sizeProblem(message, acknowledged: true) { throw problem }
    return message
  }

  func check(_ message: PreparedMessage, acknowledged: Bool) -> MessageProblem? {
    SocketIOMessage.problem(withName: message.event, revision: revision)
      ?? sizeProblem(message, acknowledged: acknowledged)
  }

  func dial(owner: any UpstreamChannelOwner) -> any UpstreamChannel {
    let channel = SocketIOChannel(connector: self, owner: owner)
    self.channel = channel
    channel.start()
    return channel
  }

  /// Calls back with the CONNECT payload of this moment, nil for none; possibly before it returns.
  func readCredentials(_ done: @escaping (Result<[UInt8]?, CredentialProblem>) -> Void) {
    switch key.auth {
    case .none: done(.success(nil))
    case .inline(let payload): done(.success(payload))
    case .file(let path):
      credentials.read(file: path) { content in
        done(
          content.flatMap { bytes in
            Result { () throws(CredentialProblem) in try SocketIOCredentials.payload(fromFile: bytes) }
          })
      }
    }
  }

  private func sizeProblem(_ message: PreparedMessage, acknowledged: Bool) -> MessageProblem? {
    SocketIOMessage.problem(
      withSizeOf: message, namespace: wireNamespace(revision),
      ackDigits: acknowledged ? ackDigits(message) : 0, revision: revision, limit: sizeLimit)
  }

  /// A request carries our next id; an answer, which has no event, carries one of the server's, of any length.
  private func ackDigits(_ message: PreparedMessage) -> Int {
    SocketIOEncoder.digits(message.event.isEmpty ? .max : channel?.nextAck ?? 0)
  }
}
