@testable import GatewayCore

/// A whole gateway without sockets and clocks: local clients speak lines, the server is a `FakeUpstream`.
final class GatewayHarness {
  let time: FakeTime
  let random: FakeRandom
  let timers: Timers
  let upstream = FakeUpstream()
  let network = FakeNetwork()
  let loader = FakeLoader()
  let urls = PlainURLReader()
  let gateway: Gateway
  var facts: [GatewayFact] = []
  private var attached: [HarnessClient] = []

  /// Several in a row share a clock; each one draws random numbers of its own by `seed`.
  init(
    outbox: OutboxOpening = .unavailable(.none), histories: Result<any HistoryStore, StorageProblem> = .failure(.none),
    runtimeHistories: Result<any HistoryStore, StorageProblem>? = nil,
    wall: Int64? = nil, time: FakeTime = FakeTime(), seed: UInt64 = 0,
    figures: ProcessFigures? = nil, fleet: FleetStore? = nil,
    _ configure: (inout Configuration) -> Void = { _ in }
  ) {
    self.time = time
    random = FakeRandom(seed: seed)
    if let wall { time.wallMilliseconds = wall }
    timers = Timers(time: time)
    let (timers, random) = (timers, random)
    var configuration = Configuration()
    configuration.upstreams["chat"] = ConfiguredUpstream(
      url: UpstreamURL(scheme: "http", host: "chat.example"), settings: UpstreamSettings())
    configure(&configuration)
    loader.next = .success(configuration)
    gateway = Gateway(
      configuration: configuration, identity: GatewayIdentity(version: "1.2.3", pid: 7, uid: 900),
      seams: GatewaySeams(
        time: time, timers: timers, random: random, urls: urls, kinds: UpstreamKindSet(all: [upstream]), loader: loader,
        network: network, outbox: outbox, histories: histories, runtimeHistories: runtimeHistories,
        residentBytes: { 4_096 }, longestTurn: figures.map { _ in { .milliseconds(1) } },
        figures: figures.map { figures in { _ in figures } }, users: FakeUsers(),
        fleet: fleet.map { FleetSeams($0, time: time, timers: timers, random: random) }))
    gateway.onFact = { [unowned self] in facts.append($0) }
    gateway.onClose = { [unowned self] session in
      attached.first { $0.session === session }?.disconnect()
    }
    gateway.start()
  }

  /// A program of `uid` connects.
  func client(uid: UInt32 = 1_000) -> HarnessClient {
    switch gateway.attach(PeerCredentials(pid: 1, uid: uid, gid: uid, groups: []), tag: 0) {
    case .admitted(let session):
      let client = HarnessClient(session, gateway)
      attached.append(client)
      return client
    case .refused(let line): return HarnessClient(refused: line, gateway)
    }
  }

  /// Reads a configuration that differs from the present one so.
  func reload(_ change: (inout Configuration) -> Void) {
    var configuration = gateway.configuration
    change(&configuration)
    loader.next = .success(configuration)
    _ = gateway.reload()
  }

  /// The machine sleeps: every timer that was due meanwhile fires when it wakes.
  func sleep(_ duration: Duration) {
    time.advance(by: duration)
    timers.fire()
  }

  /// Lets time pass, with every timer in between firing at its instant.
  func pass(_ duration: Duration) {
    let end = time.now + duration
    while let next = timers.nextDeadline, next <= end {
      if next > time.now { time.advance(by: next - time.now) }
      timers.fire()
    }
    time.advance(by: end - time.now)
  }
}

/// A local program.
final class HarnessClient {
  let session: LocalSession?
  private let gateway: Gateway
  private var lines: [String] = []
  private(set) var isConnected = true

  init(_ session: LocalSession, _ gateway: Gateway) {
    self.session = session
    self.gateway = gateway
  }

  init(refused line: [UInt8], _ gateway: Gateway) {
    session = nil
    self.gateway = gateway
    isConnected = false
    lines = [String(decoding: line.dropLast(), as: UTF8.self)]
  }

  /// Writes one line.
  func say(_ line: String) {
    let bytes = Array(line.utf8)
    session?.receive(line: bytes.span.bytes)
  }

  /// Calls a method with id 1 and takes everything that is there to read.
  @discardableResult
  func call(_ method: String, _ params: String = "{}", id: Int = 1) -> [String] {
    say(#"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"#)
    return read()
  }

  /// Everything that arrived since the last time.
  @discardableResult
  func read() -> [String] {
    if let session, isConnected {
      gateway.commitHistories()
      var bytes: [UInt8] = []
      while session.output.pointee.count > 0 {
        bytes += session.output.pointee.pending
        gateway.outputs.consume(session.output.pointee.pending.count, of: session.output)
        session.outputDrained()
      }
      lines += String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
      if session.output.pointee.closesWhenFlushed { disconnect() }
    }
    defer { lines = [] }
    return lines
  }

  /// The values of everything that arrived.
  func readValues() -> [JSONValue] { Self.values(read()) }

  static func values(_ lines: [String]) -> [JSONValue] {
    lines.compactMap { line in
      let bytes = Array(line.utf8)
      return try? JSONValue.parse(bytes.span.bytes, limit: .max)
    }
  }

  /// Closes the socket.
  func disconnect() {
    guard isConnected, let session else { return }
    isConnected = false
    gateway.detach(session)
  }
}

/// A machine with one user, alice.
final class FakeUsers: UserDirectory {
  private let alice = AccessIdentity(uid: 1_000, groups: [1_000, 50])
  func user(named name: String) -> AccessIdentity? { name == "alice" ? alice : nil }
  func user(_ uid: UInt32) -> AccessIdentity? { uid == alice.uid ? alice : nil }
}

/// Hands out what the test prepared.
final class FakeLoader: ConfigurationLoader {
  var next: Result<Configuration, ConfigurationProblems> = .success(Configuration())
  var warnings: [ConfigurationProblem] = []
  func load() -> Result<Configuration, ConfigurationProblems> { next }
}

/// Enough of a URL for tests: `scheme://host[:port][/path][?query]`.
final class PlainURLReader: URLReader {
  /// How many URLs it was asked to read.
  private(set) var count = 0

  func read(_ text: String) throws(URLProblem) -> UpstreamURL {
    count += 1
    guard let scheme = text.range(of: "://") else { throw URLProblem("it has no scheme") }
    var rest = text[scheme.upperBound...]
    var url = UpstreamURL(scheme: String(text[..<scheme.lowerBound]), host: "")
    if let mark = rest.firstIndex(of: "?") {
      url.query = String(rest[rest.index(after: mark)...])
      rest = rest[..<mark]
    }
    if let slash = rest.firstIndex(of: "/") {
      url.path = String(rest[slash...])
      rest = rest[..<slash]
    }
    if let colon = rest.lastIndex(of: ":") {
      url.port = UInt16(rest[rest.index(after: colon)...])
      rest = rest[..<colon]
    }
    url.host = String(rest)
    return url
  }
}

extension StringProtocol {
  /// The first occurrence, found the slow way.
  fileprivate func range(of text: String) -> Range<Index>? {
    indices.first { self[$0...].hasPrefix(text) }.map { $0..<index($0, offsetBy: text.count) }
  }
}
