import GatewayCore
import Glibc

/// The daemon as its local clients see it: calls, their answers, and notifications, over one socket connection.
final class Client {
  let path: String
  /// How a daemon is started that would listen there, as a clause.
  private let start: String
  private let diagnostics: Diagnostics
  /// A person looks at standard error and should know what is waited for.
  private let isWatched: Bool
  private let connection = SocketConnection()
  private var inbox: [Message] = []
  private var inboxHead = 0
  private var lastID = 0
  /// The call that waits for the answer to `hello`; 0: none does.
  private var helloID = 0
  /// An attempt has succeeded.
  private var wasConnected = false
  /// Nil until the daemon has told it, and where it does not.
  private var lineLimit: LineLimit?
  /// The daemon takes what is longer in parts.
  private var takesParts = false

  /// The version of the local protocol that is spoken.
  static let protocolVersion = 1
  /// How much later than the daemon's own deadline an answer may come, so that the daemon's precise error wins.
  static let grace = Duration.milliseconds(500)

  init(path: String, start: String, diagnostics: Diagnostics, isWatched: Bool) {
    self.path = path
    self.start = start
    self.diagnostics = diagnostics
    self.isWatched = isWatched
  }

  var isOpen: Bool { connection.isOpen }
  var descriptor: Int32 { connection.descriptor }
  var interest: Int16 { connection.interest }
  var hasMessages: Bool { inboxHead < inbox.count }

  /// The daemon has said what it takes.
  var isGreeted: Bool { helloID == 0 }

  // MARK: Reaching the daemon

  /// One attempt. Returns nil on success, or why it may succeed later; throws where it never will.
  func attempt() throws(Failure) -> String? {
    let code = connection.open(path)
    guard code == 0 else { return try reason(toTryAgainAfter: code) }
    wasConnected = true
    inbox = []
    inboxHead = 0
    sayHello()
    return nil
  }

  /// Why an attempt that failed so may succeed later; throws where it never will. The socket of a daemon that comes back
  /// is closed to other users between its making and the moment when it is given to its group.
  func reason(toTryAgainAfter code: Int32) throws(Failure) -> String {
    switch code {
    // Where something may not be written, the kernel does not look what it is.
    case ECONNREFUSED where SocketAccess.isNoSocket(path), EACCES where SocketAccess.isNoSocket(path):
      throw Failure(.unavailable, "\(path) is no socket; name gatewayd's with --socket PATH")
    case ENOENT, ECONNREFUSED, EAGAIN, ENOTDIR, EINTR, EMFILE, ENFILE, ENOBUFS: return SystemText.ofError(code)
    case EACCES where wasConnected, EPERM where wasConnected: return SystemText.ofError(code)
    case EACCES, EPERM: throw SocketAccess.denied(path)
    case EPROTOTYPE: throw Failure(.protocolMismatch, "\(path) is no stream socket; name gatewayd's with --socket")
    default: throw unreachable(SystemText.ofError(code))
    }
  }

  /// Attempts until one succeeds: a daemon that is just restarting is waited for.
  func connect(until deadline: Deadline) throws(Failure) {
    guard !isOpen else { return }
    var pause = Duration.milliseconds(10)
    let start = Clock.now
    var wasSaid = false
    while let reason = try attempt() {
      guard !deadline.hasPassed else { throw unreachable(reason) }
      if !wasSaid, Clock.now - start > .seconds(1) {
        wasSaid = true
        sayWaiting(deadline)
      }
      _ = poll(nil, 0, Deadline.earlier(deadline, .after(pause)).pollTimeout)
      pause = min(pause * 2, .milliseconds(100))
    }
  }

  /// Nothing answers at the path.
  func unreachable(_ reason: String) -> Failure {
    Failure(.unavailable, "no daemon answers at \(path): \(reason); \(start), or use --socket PATH")
  }

  /// The time is up, and the call was not answered. A daemon that takes connections was reached, even if it is stuck.
  func unanswered(_ method: String, moreWith option: OptionName = .timeout) -> Failure {
    Failure(
      .timedOut,
      "the daemon did not answer '\(method)' in time, and may still carry it out; give it more with --\(option.rawValue)"
    )
  }

  private func sayWaiting(_ deadline: Deadline) {
    let text = "waiting for a daemon at \(path)"
    if isWatched || deadline == .never { diagnostics.notice(text) } else { diagnostics.detail(text) }
  }

  private func sayHello() {
    lineLimit = nil
    takesParts = false
    helloID = post(
      "hello",
      Self.object { writer in
        writer.key("client")
        writer.string("gatewayctl/\(GatewayVersion.current)")
        writer.key("protocol")
        writer.integer(Self.protocolVersion)
      })
  }

  func close() { connection.close() }

  // MARK: Calls

  /// Sends a call and waits for its result: the raw JSON object.
  func call(
    _ method: String, until deadline: Deadline, _ params: (inout JSONWriter) -> Void = { _ in }
  ) throws(Failure) -> [UInt8] {
    try call(method, Self.object(params), until: deadline) { _ in }
  }

  /// The same with parameters that are a raw JSON object. `progress` gets what is told before the result.
  ///
  /// - Parameter inputs: the files that the parameters are made of.
  func call(
    _ method: String, _ params: [UInt8], from inputs: InputFiles? = nil, until deadline: Deadline,
    progress: ([UInt8]) throws(Failure) -> Void
  ) throws(Failure) -> [UInt8] {
    switch try answer(to: method, params, from: inputs, until: deadline, progress: progress) {
    case .success(let result): return result
    case .failure(let error): throw error.failure
    }
  }

  /// Sends a call with a raw JSON object of parameters and waits for what the daemon answers.
  func answer(
    to method: String, _ params: [UInt8], from inputs: InputFiles? = nil, until deadline: Deadline,
    progress: ([UInt8]) throws(Failure) -> Void = { _ in }
  ) throws(Failure) -> Result<[UInt8], DaemonError> {
    try connect(until: deadline)
    if params.count > LineLimit.least { try awaitHello(until: deadline) }
    let id: Int
    if let problem = problem(withLineOf: method, params, from: inputs) {
      guard takesParts, let parts = parts(of: method, params) else { throw problem }
      id = post(method, parts)
    } else {
      id = post(method, params)
    }
    let patience = Deadline.after(Self.patience)
    var wasSaid = !isWatched
    while true {
      while let message = next() {
        switch message {
        case .result(id: id, let result): return .success(result)
        case .failure(id: id, let error), .failure(id: nil, let error): return .failure(error)
        case .notification("progress", let params) where RawJSONObject(params)?.integer("id") == "\(id)":
          try progress(params)
        case .result, .failure, .notification: continue
        }
      }
      guard isOpen else {
        throw Failure(.unavailable, "the daemon closed the connection before it answered; try again")
      }
      guard !deadline.hasPassed else { throw unanswered(method) }
      if !wasSaid, patience.hasPassed {
        wasSaid = true
        diagnostics.notice(Self.waiting(for: method))
      }
      var entry = pollfd(fd: descriptor, events: interest, revents: 0)
      _ = poll(&entry, 1, (wasSaid ? deadline : Deadline.earlier(deadline, patience)).pollTimeout)
      try transfer()
    }
  }

  /// How long a person waits before it is said for what.
  private static let patience = Duration.seconds(2)

  private static func waiting(for method: String) -> String {
    switch method {
    case "request": "waiting for the server's answer"
    case "send": "waiting for the server"
    case "wait": "waiting for the connection"
    case "drain": "waiting for what is under way"
    default: "waiting for the daemon's answer"
    }
  }

  /// Waits for the answer to `hello`, or for the end of the connection.
  private func awaitHello(until deadline: Deadline) throws(Failure) {
    while isOpen, helloID != 0 {
      guard !deadline.hasPassed else { throw unanswered("hello") }
      var entry = pollfd(fd: descriptor, events: interest, revents: 0)
      _ = poll(&entry, 1, deadline.pollTimeout)
      try transfer()
    }
  }

  /// Why the daemon would not take a call because of its length, as far as it has told its limit; nil: it would.
  func problem(withLineOf method: String, _ params: [UInt8], from inputs: InputFiles? = nil) -> Failure? {
    guard params.count > LineLimit.least else { return nil }
    return lineLimit?.problem(withLineOf: Self.line(lastID + 1, method, params).count, from: inputs)
  }

  /// Queues a call whose answer will be among the messages. Returns its id.
  @discardableResult
  func post(_ method: String, _ params: [UInt8]) -> Int {
    lastID += 1
    connection.queue(Self.line(lastID, method, params) + [0x0a])
    return lastID
  }

  /// The params of the calls that a longer one becomes; nil where that cannot be.
  private func parts(of method: String, _ params: [UInt8]) -> [[UInt8]]? {
    guard MessageParts.methods.contains(method), let lineLimit else { return nil }
    return MessageParts.params(of: params, id: lastID + 1, lineLimit: lineLimit.bytes)
  }

  /// Queues a call in parts, of which the last is answered. Returns its id.
  private func post(_ method: String, _ parts: [[UInt8]]) -> Int {
    for part in parts.dropLast() { connection.queue(Self.line(nil, method, part) + [0x0a]) }
    return post(method, parts[parts.count - 1])
  }

  /// A call without its line feed; one without an id is not answered.
  private static func line(_ id: Int?, _ method: String, _ params: [UInt8]) -> [UInt8] {
    var writer = JSONWriter(reserving: params.count + 128)
    writer.beginObject()
    writer.key("jsonrpc")
    writer.string("2.0")
    if let id {
      writer.key("id")
      writer.integer(id)
    }
    writer.key("method")
    writer.string(method)
    writer.key("params")
    writer.raw(params)
    writer.endObject()
    return writer.bytes
  }

  /// The text of an object whose members `body` writes.
  static func object(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    body(&writer)
    writer.endObject()
    return writer.bytes
  }

  // MARK: Messages

  /// Writes what is possible without waiting.
  func write() { connection.write() }

  var hasUnsentBytes: Bool { connection.hasUnsentBytes }

  /// Writes and reads what is possible without waiting. The connection may be closed afterwards.
  func transfer() throws(Failure) {
    connection.write()
    let goesOn = try connection.read { line throws(Failure) in try self.take(line) }
    if !goesOn { connection.close() }
  }

  /// Finds out whether the daemon has closed the connection meanwhile, so that the next call opens a new one.
  func noticeLoss() throws(Failure) {
    if isOpen { try transfer() }
  }

  /// The oldest message not yet handed out. Messages outlive the connection they came by.
  func next() -> Message? {
    guard hasMessages else {
      inbox.removeAll(keepingCapacity: true)
      inboxHead = 0
      return nil
    }
    defer { inboxHead += 1 }
    return inbox[inboxHead]
  }

  private func take(_ line: [UInt8]) throws(Failure) {
    guard let message = Message.parse(line) else {
      throw Failure(.protocolMismatch, "what answers at \(path) does not speak gatewayd's protocol; check --socket")
    }
    switch message {
    case .result(id: helloID, let result): try take(hello: result)
    case .failure(id: helloID, let error) where error.kind == .invalidParams || error.kind == .invalidRequest:
      throw Failure(.protocolMismatch, "the daemon does not speak protocol \(Self.protocolVersion): \(error.message)")
    case .failure(id: helloID, _): helloID = 0
    case .result, .failure, .notification: inbox.append(message)
    }
  }

  private func take(hello: [UInt8]) throws(Failure) {
    helloID = 0
    guard let hello = try? JSONValue.parse(hello.span.bytes, limit: .max) else { return }
    lineLimit = hello["limits"]?["line"]?.integerValue.map { LineLimit(bytes: $0) }
    takesParts = hello["features"]?.elements?.contains { $0.stringValue == "parts" } ?? false
    guard let spoken = hello["protocol"] else { return }
    let least = spoken["min"]?.integerValue ?? Self.protocolVersion
    let most = spoken["max"]?.integerValue ?? Self.protocolVersion
    guard least > Self.protocolVersion || most < Self.protocolVersion else { return }
    throw Failure(
      .protocolMismatch,
      "the daemon speaks protocol \(least) to \(most), this gatewayctl \(Self.protocolVersion); install the same version"
    )
  }
}
