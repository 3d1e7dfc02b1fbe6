/// What one daemon hands over to the next at a restart, as lines of JSON: first a header, then each local client as the
/// state of its conversation and the calls that make the next daemon hold for it what this one held. The clients'
/// sockets go beside it; of descriptors nothing is known here. Decision 0116.
public enum HandoverDocument {
  /// Of what is written. It grows only where a daemon that knows less would go on wrongly: of a higher version than this
  /// daemon's own nothing is understood, and the clients are told to come again. Within one version members and lines may
  /// be added: what a daemon does not know it skips, and what it misses it takes for what daemons without it had.
  static let version = 1

  /// The last word to a client with which the next daemon cannot go on.
  static let refusal = LocalNotification.goodbye(
    reason: LocalSession.restarting, reconnectIn: .milliseconds(500))

  /// What the first line says.
  public struct Header: Equatable, Sendable {
    /// How many hand-overs there were, this one included.
    var handovers: UInt64
    /// The number of the last token for an answer: a client may still hold it, and it must not become another's.
    var lastToken: UInt64
  }

  /// A local client.
  public struct Client: Equatable, Sendable {
    /// The kernel's number of its socket, which it keeps: so no mishap on the way can give a client another's.
    public var socket: UInt64
    /// The name that it gave itself.
    var name: String?
    /// When it connected, in milliseconds since 1970; nil: not known.
    var since: Int64?
    /// The numbers of the next subscription and the next trace that the daemon names.
    var nextSubscription: UInt64
    var nextTrace: UInt64
    /// What was read and not understood yet, usually the beginning of a line.
    public var input: [UInt8]
    /// What is not written yet.
    var output: [UInt8]
    /// Nothing more is said to it or heard; its socket closes when the output is written.
    var isClosing: Bool
    /// What the next daemon does for it.
    var calls: [Call]
  }

  /// What every version can read of a client, whatever else there is of it: enough to end the conversation in order.
  public struct LeftOver: Equatable, Sendable {
    public var socket: UInt64
    var output: [UInt8]

    public init(socket: UInt64, output: [UInt8]) {
      self.socket = socket
      self.output = output
    }
  }

  /// Something that a client has or waits for.
  typealias Call = CallContinuation

  /// The `key` of a send that was made, which must not be made again.
  public struct Key: Equatable, Sendable {
    var key: String
    var uid: UInt32
    /// The fingerprint of the connection's key.
    var connection: UInt64
    /// How the program named the upstream, if by URL: as it wrote it, so that the document holds secrets.
    var target: CallTarget?
    /// Of the send.
    var id: String
    var fingerprint: UInt64
    var state: String
    var age: Duration
  }

  /// A line of the document.
  public enum Entry: Equatable, Sendable {
    case header(Header)
    case key(Key)
    case client(Client)
    /// Only read: a client with whom this daemon cannot go on.
    case leftOver(LeftOver)
  }
}

extension HandoverDocument.Client {
  /// A client that gets what it was being sent, and the word to come again.
  public static func leftOver(_ client: HandoverDocument.LeftOver) -> Self {
    Self(
      socket: client.socket, since: nil, nextSubscription: 1, nextTrace: 1, input: [],
      output: client.output + HandoverDocument.refusal, isClosing: true, calls: [])
  }

  /// The same of a client of whom everything is known.
  var ending: Self {
    var ending = Self.leftOver(HandoverDocument.LeftOver(socket: socket, output: output))
    (ending.name, ending.since) = (name, since)
    return ending
  }
}

// MARK: - Writing

extension HandoverDocument {
  /// A line, with its end.
  public static func line(_ entry: Entry) -> [UInt8] {
    var out = JSONWriter()
    out.object {
      switch entry {
      case .header(let header):
        $0.member("gatewayd", version)
        $0.member("handovers", header.handovers)
        $0.member("last_token", header.lastToken)
      case .key(let key): write(key, into: &$0)
      case .client(let client): write(client, into: &$0)
      case .leftOver(let client): write(client, into: &$0)
      }
    }
    return out.bytes + [UInt8(ascii: "\n")]
  }

  private static func write(_ key: Key, into out: inout JSONWriter) {
    out.member("key", key.key)
    out.member("uid", key.uid)
    out.member("connection", key.connection)
    if case .url(let url)? = key.target?.name {
      out.member("url", url)
      out.member("namespace", key.target?.namespace)
    }
    out.member("id", key.id)
    out.member("fingerprint", key.fingerprint)
    out.member("state", key.state)
    out.member("age", key.age.milliseconds)
  }

  private static func write(_ client: LeftOver, into out: inout JSONWriter) {
    out.member("socket", client.socket)
    out.key("output")
    out.base64(client.output)
  }

  private static func write(_ client: Client, into out: inout JSONWriter) {
    write(LeftOver(socket: client.socket, output: client.output), into: &out)
    out.member("name", client.name)
    if let since = client.since { out.member("since", since) }
    out.member("next_subscription", client.nextSubscription)
    out.member("next_trace", client.nextTrace)
    out.key("input")
    out.base64(client.input)
    out.key("closing")
    out.bool(client.isClosing)
    out.key("calls")
    out.beginArray()
    for call in client.calls {
      out.object {
        $0.member("line", String(decoding: call.line, as: UTF8.self))
        if let number = call.number { $0.member("number", number) }
        if call.isNotification {
          $0.key("notification")
          $0.bool(true)
        }
        write(call.withheld, into: &$0)
      }
    }
    out.endArray()
  }
}

extension HandoverDocument {
  /// Where there is something.
  private static func write(_ withheld: [ExactText: Backlog.Gap], into out: inout JSONWriter) {
    guard !withheld.isEmpty else { return }
    out.key("withheld")
    out.beginArray()
    for (name, gap) in withheld.sorted(by: { $0.key.text < $1.key.text }) {
      guard let range = gap.range else { continue }
      out.object {
        $0.member("event", name.text)
        $0.member("epoch", gap.epoch)
        $0.member("from", range.lowerBound)
        $0.member("to", range.upperBound)
        if let count = gap.count { $0.member("count", count) }
      }
    }
    out.endArray()
  }
}

extension JSONWriter {
  /// Any bytes as a string.
  fileprivate mutating func base64(_ bytes: [UInt8]) {
    var text: [UInt8] = [UInt8(ascii: "\"")]
    Base64.encode(bytes.span.bytes, into: &text)
    text.append(UInt8(ascii: "\""))
    raw(text)
  }
}

// MARK: - Reading

/// Reads a document, in whatever pieces it comes. It was written by a daemon of the same user and is not mistrusted, but
/// may be another version's, or cut off.
public struct HandoverReader {
  /// Why a document is of no use from here on, in a sentence without a full stop.
  public struct Problem: Error, Equatable, Sendable {
    public var message: String
  }

  private var lines = LineBuffer(limit: lineLimit)
  private var isBegun = false
  /// What was found first.
  private var problem: Problem?
  /// More than any line has.
  private static let lineLimit = 1 << 40

  public init() {}

  /// The entries that end in this piece, in their order. Behind a line that cannot be used nothing is known for sure:
  /// of the clients that stand there, what can be read is left over.
  public mutating func append(_ piece: RawSpan, _ entry: (HandoverDocument.Entry) -> Void) {
    var (isBegun, problem) = (isBegun, problem)
    do throws(LineTooLong) {
      try lines.append(piece) { line in
        if problem == nil {
          do throws(Problem) { try Self.read(line, isFirst: !isBegun).map(entry) } catch { problem = error }
        }
        if problem != nil, let rest = Self.leftOver(line) { entry(.leftOver(rest)) }
        isBegun = true
      }
    } catch { problem = problem ?? Problem(message: "a line of it never ends") }
    (self.isBegun, self.problem) = (isBegun, problem)
  }

  /// The document is over. Throws if it was cut off, or else what was wrong with it.
  public func finish() throws(Problem) {
    if let problem { throw problem }
    guard isBegun, lines.isEmpty else { throw Problem(message: "it is not complete") }
  }

  /// The client of a line of a document that cannot be used.
  private static func leftOver(_ line: RawSpan) -> HandoverDocument.LeftOver? {
    guard let value = try? JSONValue.parse(line, limit: lineLimit) else { return nil }
    return try? HandoverDocument.LeftOver(socket: number(value, "socket"), output: bytes(value, "output"))
  }

  /// Nil for a line of which this version does not know what it is about.
  private static func read(_ line: RawSpan, isFirst: Bool) throws(Problem) -> HandoverDocument.Entry? {
    guard let value = try? JSONValue.parse(line, limit: lineLimit) else { throw Problem(message: "it is no JSON") }
    guard isFirst else {
      if value["key"] != nil { return .key(try key(value)) }
      return value["socket"] == nil ? nil : .client(try client(value))
    }
    guard let version = value["gatewayd"]?.integerValue else { throw Problem(message: "it has no version") }
    guard version <= HandoverDocument.version else {
      throw Problem(message: "its version is \(version), and this daemon reads \(HandoverDocument.version)")
    }
    return .header(
      HandoverDocument.Header(
        handovers: try count(value, "handovers", default: 0), lastToken: try count(value, "last_token", default: 0)))
  }

  private static func key(_ value: JSONValue) throws(Problem) -> HandoverDocument.Key {
    let target = value["url"]?.stringValue.map {
      CallTarget(name: .url($0), namespace: value["namespace"]?.stringValue)
    }
    return HandoverDocument.Key(
      key: try text(value, "key"), uid: UInt32(clamping: try number(value, "uid")),
      connection: try number(value, "connection"), target: target, id: try text(value, "id"),
      fingerprint: try number(value, "fingerprint"), state: try text(value, "state"),
      age: value["age"] == nil ? .zero : .milliseconds(Int64(clamping: try number(value, "age"))))
  }

  private static func client(_ value: JSONValue) throws(Problem) -> HandoverDocument.Client {
    var calls: [HandoverDocument.Call] = []
    for call in value["calls"]?.elements ?? [] {
      guard let text = call["line"]?.stringValue else { throw Problem(message: "a call in it has no text") }
      let number = call["number"] == nil ? nil : try count(call, "number")
      calls.append(
        HandoverDocument.Call(
          line: Array(text.utf8), number: number, isNotification: call["notification"]?.boolValue ?? false,
          withheld: try withheld(call)))
    }
    return HandoverDocument.Client(
      socket: try number(value, "socket"), name: value["name"]?.stringValue,
      since: value["since"] == nil ? nil : Int64(clamping: try number(value, "since")),
      nextSubscription: try count(value, "next_subscription", default: 1),
      nextTrace: try count(value, "next_trace", default: 1),
      input: value["input"] == nil ? [] : try bytes(value, "input"), output: try bytes(value, "output"),
      isClosing: value["closing"]?.boolValue ?? false, calls: calls)
  }

  private static func withheld(_ call: JSONValue) throws(Problem) -> [ExactText: Backlog.Gap] {
    var withheld: [ExactText: Backlog.Gap] = [:]
    for one in call["withheld"]?.elements ?? [] {
      let (first, last) = (try count(one, "from"), try count(one, "to"))
      guard 1 <= first, first <= last else {
        throw Problem(message: "events in it that nobody may see have no numbers")
      }
      let amount = one["count"] == nil ? nil : try count(one, "count")
      // They can be added up, however many names there are.
      guard amount ?? 0 <= UInt64(UInt32.max) else { throw Problem(message: "count in it is too large") }
      withheld[ExactText(try text(one, "event"))] = Backlog.Gap(
        epoch: try text(one, "epoch"), range: first...last, count: amount, reason: .expired)
    }
    return withheld
  }

  private static func member(_ value: JSONValue, _ name: String) throws(Problem) -> JSONValue {
    guard let member = value[name] else { throw Problem(message: "a line of it has no \(name)") }
    return member
  }

  /// A number from which this daemon counts on.
  private static func count(_ value: JSONValue, _ name: String) throws(Problem) -> UInt64 {
    let count = try number(value, name)
    guard count <= UInt64(Int64.max) else { throw Problem(message: "\(name) in it is too large") }
    return count
  }

  /// The same where daemons without it had this one.
  private static func count(_ value: JSONValue, _ name: String, default: UInt64) throws(Problem) -> UInt64 {
    value[name] == nil ? `default` : try count(value, name)
  }

  private static func number(_ value: JSONValue, _ name: String) throws(Problem) -> UInt64 {
    guard case .number(let text) = try member(value, name), let number = UInt64(text) else {
      throw Problem(message: "\(name) in it is no number")
    }
    return number
  }

  private static func text(_ value: JSONValue, _ name: String) throws(Problem) -> String {
    guard let text = try member(value, name).stringValue else { throw Problem(message: "\(name) in it is no text") }
    return text
  }

  private static func bytes(_ value: JSONValue, _ name: String) throws(Problem) -> [UInt8] {
    guard let text = try member(value, name).stringValue, let bytes = Base64.decode(text.utf8Span.span.bytes) else {
      throw Problem(message: "\(name) in it is not what it should be")
    }
    return bytes
  }
}
