/// The credentials of one connection: reads all of them for each attempt, and remembers how far the files had changed
/// when it did.
final class UpstreamCredentials {
  private let auth: AuthSource
  /// What of them stands in the configuration itself, beside the payload.
  private let written: (headers: [HTTPHeader], query: [QueryItem], urls: [UpstreamURL])
  private let headers: [SecretMember]
  private let query: [SecretMember]
  private let readings: CredentialReads
  private let request: (SecretSource) -> SecretRequest
  /// Of the last reading, for every source that is a file.
  private var versions: [SecretSource: SecretVersion?] = [:]

  init(_ specification: UpstreamSpecification, readings: CredentialReads) {
    let settings = specification.settings
    auth = settings.auth
    headers = settings.headerSources
    query = settings.querySources
    written = (settings.headers, settings.query, [specification.url] + settings.alternatives)
    self.readings = readings
    let (name, url, limit) = (specification.name, specification.url.redacted, settings.authTimeout)
    let account = specification.requester
    request = { SecretRequest(source: $0, upstream: name, url: url, timeLimit: limit, account: account) }
  }

  /// Whether reading again can bring something else: nothing that is written into the configuration can.
  var isRefreshable: Bool { !sources.isEmpty }
  /// The same for the payload of CONNECT alone.
  var payloadIsRefreshable: Bool { payloadSource != nil }
  /// The same for what the HTTP request carries alone.
  var requestIsRefreshable: Bool { !headers.isEmpty || !query.isEmpty }
  /// Whether a command takes part, each run of which counts as new.
  var hasCommand: Bool { sources.contains(where: \.isCommand) }

  /// Whether a file takes part, whose changes can be seen from outside.
  var hasFile: Bool { sources.contains { !$0.isCommand } }

  private var payloadSource: SecretSource? {
    guard case .external(let source) = auth else { return nil }
    return source
  }

  private var sources: [SecretSource] { [payloadSource].compactMap { $0 } + (headers + query).map(\.source) }

  /// What may be secret in a URL, as it stands there and as the server reads it.
  private static func add(_ url: UpstreamURL, to redaction: inout Redaction) {
    if let userInfo = url.userInfo {
      var basic: [UInt8] = []
      Base64.encode(Array(userInfo.utf8).span.bytes, into: &basic)
      redaction.add(userInfo)
      redaction.add(String(decoding: basic, as: UTF8.self))
      if let colon = userInfo.firstIndex(of: ":") { redaction.add(String(userInfo[userInfo.index(after: colon)...])) }
    }
    if let query = url.query { redaction.add(target: "?" + query) }
  }

  /// Whether some of them stand in what a server said: of those that were read, or that the configuration has.
  func occur(in failure: UpstreamFailure, read secrets: ConnectSecrets?) -> Bool {
    var redaction = Redaction()
    for header in written.headers { redaction.add(header) }
    for item in written.query { redaction.add(item.value) }
    for url in written.urls { Self.add(url, to: &redaction) }
    secrets?.add(to: &redaction)
    let said = failure.serverMessage ?? (failure.reason.mayQuoteServer ? failure.detail : "")
    return [[UInt8](said.utf8), failure.serverData ?? []].contains { redaction.occurs(in: $0) }
  }

  /// Calls back exactly once, possibly before it returns, with everything of this moment or with the first problem.
  func read(
    while isWanted: @escaping () -> Bool, _ done: @escaping (Result<ConnectSecrets, CredentialProblem>) -> Void
  ) {
    for source in sources { versions[source] = readings.version(of: source) }
    let reading = Reading(awaited: 1 + headers.count + query.count, while: isWanted, done)
    readPayload(reading)
    for (index, member) in headers.enumerated() {
      read(member, reading) { $0.headers[index] = HTTPHeader(name: member.name, value: $1) }
    }
    for (index, member) in query.enumerated() {
      read(member, reading) { $0.query[index] = QueryItem(name: member.name, value: $1) }
    }
  }

  /// Whether a file is another one than at the last reading.
  var haveChanged: Bool {
    versions.contains { source, version in readings.version(of: source) != version }
  }

  private func readPayload(_ reading: Reading) {
    reading.secrets.headers = headers.map { HTTPHeader(name: $0.name, value: "") }
    reading.secrets.query = query.map { QueryItem(name: $0.name, value: "") }
    switch auth {
    case .none: reading.finish { _ in }
    case .inline(let payload): reading.finish { $0.payload = payload }
    case .external(let source):
      readings.read(request(source), while: reading.isWanted) { content in
        reading.finish { (secrets) throws(CredentialProblem) in
          secrets.payload = try AuthPayload.payload(from: content.get(), of: source)
        }
      }
    }
  }

  private func read(
    _ member: SecretMember, _ reading: Reading, _ store: @escaping (inout ConnectSecrets, String) -> Void
  ) {
    readings.read(request(member.source), while: reading.isWanted) { content in
      reading.finish { (secrets) throws(CredentialProblem) in
        store(&secrets, member.prefix + (try SecretText.value(from: content.get(), of: member.source)))
      }
    }
  }

  /// Gathers the parts of one reading.
  private final class Reading {
    var secrets = ConnectSecrets()
    private var awaited: Int
    private var problem: CredentialProblem?
    /// Whether somebody still wants it.
    let isWanted: () -> Bool
    private let done: (Result<ConnectSecrets, CredentialProblem>) -> Void

    init(
      awaited: Int, while isWanted: @escaping () -> Bool,
      _ done: @escaping (Result<ConnectSecrets, CredentialProblem>) -> Void
    ) {
      self.awaited = awaited
      self.isWanted = isWanted
      self.done = done
    }

    func finish(_ part: (inout ConnectSecrets) throws(CredentialProblem) -> Void) {
      do throws(CredentialProblem) { try part(&secrets) } catch { problem = problem ?? error }
      awaited -= 1
      if awaited == 0 { done(problem.map { .failure($0) } ?? .success(secrets)) }
    }
  }
}

/// Everything secret that was read for one attempt to connect. Never shown.
struct ConnectSecrets: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
  /// The CONNECT payload, a JSON object; nil for none.
  var payload: [UInt8]?
  /// Headers whose values were read from elsewhere.
  var headers: [HTTPHeader] = []
  /// Query parameters whose values were read from elsewhere; not yet percent-encoded.
  var query: [QueryItem] = []

  var description: String { "secrets" }
  var customMirror: Mirror { Mirror(reflecting: description) }

  fileprivate func add(to redaction: inout Redaction) {
    if let payload { redaction.add(json: payload) }
    for header in headers { redaction.add(header) }
    for item in query { redaction.add(item.value) }
  }
}

extension DialRequest {
  /// With the headers and query parameters that were read for this attempt.
  func adding(_ secrets: ConnectSecrets) -> DialRequest {
    guard !secrets.headers.isEmpty || !secrets.query.isEmpty else { return self }
    var request = self
    request.headers += secrets.headers
    for item in secrets.query {
      request.target += request.target.contains("?") ? "&" : "?"
      request.target += "\(PercentEncoding.component(item.name))=\(PercentEncoding.component(item.value))"
    }
    return request
  }
}

/// Lets connections of one account that want the same secret at the same time share one reading: a command runs once for
/// all of them. Those of another account do not, because the command may wait for its turn behind others of its account.
final class CredentialReads {
  typealias Answer = (Result<[UInt8], CredentialProblem>) -> Void

  private let reader: any CredentialReader
  /// Who waits for one reading.
  private final class Readers {
    var all: [(isWanted: () -> Bool, answer: Answer)] = []
  }
  private var waiting: [SecretRequest: Readers] = [:]

  init(reader: any CredentialReader) { self.reader = reader }

  /// Calls back exactly once, possibly before it returns.
  func read(_ request: SecretRequest, while isWanted: @escaping () -> Bool, _ done: @escaping Answer) {
    if let readers = waiting[request] { return readers.all.append((isWanted, done)) }
    let readers = Readers()
    readers.all = [(isWanted, done)]
    waiting[request] = readers
    reader.read(request, while: { readers.all.contains { $0.isWanted() } }) { [weak self] result in
      self?.waiting[request] = nil
      for reader in readers.all { reader.answer(result) }
      readers.all = []
    }
  }

  /// What is different once the source has changed; nil where only reading it tells.
  func version(of source: SecretSource) -> SecretVersion? { reader.version(of: source) }
}
