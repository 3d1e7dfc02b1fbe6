@testable import GatewayCore

/// A session with a router that the test plays. What the session says and tells is kept as text.
final class WAMPScene: WAMPBearer {
  /// Nothing of it is secret, and nothing is hard.
  final class PlainCryptography: Cryptography {
    var waiting: [([UInt8]?) -> Void] = []
    /// In whose turns the keys were to be derived.
    private(set) var accounts: [Account] = []
    func sha256(_ data: [UInt8]) -> [UInt8] { Array(repeating: UInt8(truncatingIfNeeded: data.count), count: 32) }
    func hmacSHA256(key: [UInt8], _ data: [UInt8]) -> [UInt8] {
      Array(repeating: UInt8(truncatingIfNeeded: key.count ^ data.count), count: 32)
    }
    func ed25519PublicKey(_ key: [UInt8]) -> [UInt8]? { key }
    func ed25519Sign(_ message: [UInt8], key: [UInt8]) -> [UInt8]? { message + key }
    func saslPrepared(_ text: String) -> String? { text }
    func derive(
      _ derivation: KeyDerivation, for account: Account, while isWanted: @escaping () -> Bool,
      _ done: @escaping ([UInt8]?) -> Void
    ) {
      accounts.append(account)
      waiting.append(done)
    }
  }

  let cryptography = PlainCryptography()
  private(set) var conversation: WAMPConversation!
  /// Messages to the router, oldest first.
  private(set) var sent: [String] = []
  /// What was told to the owner.
  private(set) var told: [String] = []
  private(set) var hasParted = false
  private(set) var failures: [UpstreamFailure] = []
  var failure: UpstreamFailure? { failures.first }
  var isObserved = false
  private(set) var words: [String] = []

  init(_ credentials: WAMPCredentials = WAMPCredentials(), isPrivate: Bool = true) {
    conversation = WAMPConversation(
      WAMPConversation.Settings(realm: "realm1", isPrivate: isPrivate), credentials, cryptography: cryptography,
      random: FakeRandom(), bearer: self)
  }

  /// A session that has begun as number 7, with nothing said since.
  static func joined() -> WAMPScene {
    let scene = WAMPScene()
    scene.conversation.opened()
    scene.receive(#"[2,7,{"roles":{"dealer":{"features":{"call_canceling":true}}}}]"#)
    _ = scene.takeSent()
    _ = scene.takeTold()
    return scene
  }

  func receive(_ text: String) {
    let bytes = Array(text.utf8)
    conversation.received(text: bytes.span.bytes)
  }

  /// The same for a text that is looked at while it comes, in pieces of so many bytes.
  func receive(_ text: String, inPiecesOf size: Int) {
    let bytes = Array(text.utf8)
    var long = WAMPElements.long()
    for end in stride(from: size, to: bytes.count, by: size) { long.advance(bytes.span.bytes.extracting(0..<end)) }
    long.advance(bytes.span.bytes, isWhole: true)
    conversation.received(text: bytes.span.bytes, long: long)
  }

  func takeSent() -> [String] {
    defer { sent = [] }
    return sent
  }

  func takeTold() -> [String] {
    defer { told = [] }
    return told
  }

  func want(_ name: String, answers: Bool = false) {
    conversation.want(Interest(.name(ExactText(name)), answers: answers))
  }

  func want(glob: String) { conversation.want(Interest(.glob(ExactText(glob)))) }

  func drop(_ name: String, answers: Bool = false) {
    conversation.drop(Interest(.name(ExactText(name)), answers: answers))
  }

  // MARK: - WAMPBearer

  func send(_ text: RawSpan, compress: Bool) { sent.append(Self.text(text)) }
  func send(control text: RawSpan) { sent.append(Self.text(text)) }
  func closeEnded() { hasParted = true }
  func began() { told.append("began") }
  func ended(_ failure: UpstreamFailure) { failures.append(failure) }

  func event(_ name: RawSpan, _ arguments: RawSpan, _ keywords: RawSpan?, ack: UInt64?) {
    told.append(
      "event \(Self.text(name)) [\(Self.text(arguments))]\(Self.suffix(keywords))\(ack.map { " ack \($0)" } ?? "")")
  }

  func dropped(_ event: DroppedEvent) {
    let name = event.name.map { " " + String(decoding: $0, as: UTF8.self) } ?? ""
    told.append("dropped \(event.reason.rawValue)\(name)\(event.ack.map { " ack \($0)" } ?? "")")
  }

  func acknowledged(_ ack: UInt64, _ arguments: RawSpan, _ keywords: RawSpan?) {
    told.append("acknowledged \(ack) [\(Self.text(arguments))]\(Self.suffix(keywords))")
  }

  func progressed(_ ack: UInt64, _ arguments: RawSpan, _ keywords: RawSpan?) {
    told.append("progressed \(ack) [\(Self.text(arguments))]\(Self.suffix(keywords))")
  }

  var lineLimit = Int.max

  func event(_ name: RawSpan, tooLong size: Int, ack: UInt64?) {
    told.append("event \(Self.text(name)) of \(size) bytes\(ack.map { " ack \($0)" } ?? "")")
  }

  func answered(_ ack: UInt64, tooLong size: Int, isPart: Bool) {
    told.append("\(isPart ? "progressed" : "acknowledged") \(ack) of \(size) bytes")
  }

  func answeredUnreadably(_ ack: UInt64) { told.append("unreadable \(ack)") }

  func failed(_ ack: UInt64, _ error: RemoteError) {
    let keywords = error.answer.kwargs.map { " " + String(decoding: $0, as: UTF8.self) } ?? ""
    told.append("failed \(ack) \(error.name) [\(String(decoding: error.answer.args, as: UTF8.self))]\(keywords)")
  }

  func withdrew(_ ack: UInt64) { told.append("withdrew \(ack)") }

  func answered(_ interest: Interest, _ refusal: UpstreamFailure?) {
    told.append("\(refusal.map { "refused (\($0.detail))" } ?? "agreed to") \(interest)")
  }

  func observed(_ direction: TraceFact.Direction, _ words: String, _ message: RawSpan?) {
    self.words.append("\(direction.rawValue) \(words)")
  }

  private static func suffix(_ keywords: RawSpan?) -> String {
    guard let keywords else { return "" }
    return " " + text(keywords)
  }

  private static func text(_ span: RawSpan) -> String { span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
