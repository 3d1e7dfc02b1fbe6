@testable import GatewayCore

/// The file of a history as a daemon finds it. Whatever the bytes are, the daemon starts, answers in whole lines with
/// numbers that rise, and writes down what another daemon finds to be whole and the same. The first byte chooses whether
/// every check sum is believed, so that what lies behind them is reached, and whether the file is found once or twice.
enum HistoryTarget {
  static func problem(with input: [UInt8]) -> String? {
    guard let choice = input.first else { return nil }
    let bytes = Array(input.dropFirst())
    let store = Store(believesAll: choice & 1 == 0)
    store.found = choice & 2 == 0 ? [bytes] : [Array(bytes.prefix(bytes.count / 2)), bytes]
    let first = Scene(store)
    if let problem = first.problem { return problem }
    store.found = store.written.map { [$0] } ?? []
    let second = Scene(store)
    guard second.damages == 0 else { return "what was written is damaged" }
    return first.answers == second.answers ? second.problem : "what was written is found differently"
  }
}

/// A gateway with one upstream that is never dialled, and what it says of its past. It is asked about every name: which of
/// the names that have expired are known is no part of the file.
private final class Scene {
  private let gateway: Gateway
  private(set) var damages = 0
  /// The lines that answer the questions, without what differs from daemon to daemon.
  private(set) var answers: [String] = []
  private(set) var problem: String?

  init(_ store: Store) {
    let time = Clock()
    let timers = Timers(time: time)
    let random = Numbers()
    let kind = SocketIOKind(
      dialer: DeafDialer(), requester: nil, credentials: NoCredentials(), timers: timers, time: time, random: random)
    var configuration = Configuration()
    var settings = UpstreamSettings()
    settings.history.disk = true
    settings.history.age = .seconds(31_536_000)
    configuration.upstreams["h"] = ConfiguredUpstream(
      url: UpstreamURL(scheme: "http", host: "h.example"), settings: settings)
    gateway = Gateway(
      configuration: configuration, identity: GatewayIdentity(version: "1", pid: 1, uid: 0),
      seams: GatewaySeams(
        time: time, timers: timers, random: random, urls: NoURLs(),
        kinds: UpstreamKindSet(all: [kind]), loader: Same(configuration),
        histories: .success(store), residentBytes: { 0 }))
    gateway.onFact = { [unowned self] fact in
      if case .history(_, _, .setAside) = fact { damages += 1 }
    }
    gateway.start()
    ask(#""method":"history","params":{"upstream":"h"}"#)
    for place in [#"{"epoch":"e1","seq":0}"#, #"{"epoch":"e","seq":3}"#, #"{"epoch":"e1","seq":9007199254740991}"#] {
      ask(#""method":"history","params":{"upstream":"h","limit":1000,"since":\#(place)}"#)
    }
  }

  private func ask(_ call: String) {
    guard
      case .admitted(let session) = gateway.attach(PeerCredentials(pid: 1, uid: 0, gid: 0, groups: []), tag: 0)
    else { return problem = "a client was turned away" }
    let line = Array(#"{"jsonrpc":"2.0","id":1,\#(call)}"#.utf8)
    session.receive(line: line.span.bytes)
    gateway.commitHistories()
    var text: [UInt8] = []
    while session.output.pointee.count > 0 {
      let pending = session.output.pointee.pending
      text += pending
      gateway.outputs.consume(pending.count, of: session.output)
      session.outputDrained()
    }
    gateway.detach(session)
    judge(text)
  }

  private func judge(_ text: [UInt8]) {
    var last = -1
    for line in text.split(separator: UInt8(ascii: "\n")) {
      let line = Array(line)
      guard (try? JSONScanner.validate(line.span.bytes)) != nil,
        let value = try? JSONValue.parse(line.span.bytes, limit: .max)
      else {
        // What stands in a file with the right check sums was written by a daemon, which writes events as they are.
        continue
      }
      for event in value["result"]?["events"]?.elements ?? [] {
        guard let number = event["seq"]?.integerValue else { continue }
        if number <= last { problem = "numbers do not rise" }
        last = number
      }
      answers.append(String(decoding: line, as: UTF8.self))
    }
  }
}

/// A disk with one history, in one or more segments.
private final class Store: HistoryStore {
  let boot = "b"
  let believesAll: Bool
  var found: [[UInt8]] = []
  private(set) var written: [UInt8]?

  init(believesAll: Bool) { self.believesAll = believesAll }

  func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    believesAll ? 0 : bytes.reduce(UInt32(1)) { ($0 &* 31) &+ UInt32($1) }
  }

  func segments(of name: String) -> [HistorySegment] {
    found.enumerated().map {
      HistorySegment(id: .init(name: name, number: UInt64($0.offset)), isCut: false, size: $0.element.count)
    }
  }

  func content(of segment: HistorySegment) -> Result<[UInt8], StorageProblem> {
    .success(found[Int(segment.id.number)])
  }

  func beside(_ work: @escaping () -> Void, _ done: @escaping () -> Void) {
    work()
    done()
  }

  func make(_ id: HistorySegment.ID) -> any HistoryFile { File(self) }
  func remove(_ id: HistorySegment.ID) {}
  func setAside(_ id: HistorySegment.ID, as reason: HistoryAside) -> String { "/aside" }
  func cut(_ id: HistorySegment.ID) {}
  func names() -> [String] { [] }
  func has(_ name: String) -> Bool { !found.isEmpty }
  func listing(of name: String) -> HistoryListing? { nil }

  private final class File: HistoryFile {
    private let store: Store

    init(_ store: Store) {
      self.store = store
      store.written = []
    }

    func append(_ bytes: UnsafeRawBufferPointer) { store.written?.append(contentsOf: bytes) }
    func publish() {}
    func sync() {}
  }
}

private final class Clock: TimeSource {
  let now = MonotonicInstant(nanoseconds: 1 << 60)
  let wallMilliseconds: Int64 = 1 << 40
}

private final class Numbers: RandomSource {
  private var last: UInt64 = 0
  func bits() -> UInt64 {
    last += 1
    return last
  }
}

private final class NoURLs: URLReader {
  func read(_ text: String) throws(URLProblem) -> UpstreamURL { throw URLProblem("there is none") }
}

private final class NoCredentials: CredentialReader {
  func read(
    _ request: SecretRequest, while isWanted: @escaping () -> Bool,
    _ done: @escaping (Result<[UInt8], CredentialProblem>) -> Void
  ) {}
  func version(of source: SecretSource) -> SecretVersion? { nil }
}

private final class Same: ConfigurationLoader {
  private let configuration: Configuration
  init(_ configuration: Configuration) { self.configuration = configuration }
  func load() -> Result<Configuration, ConfigurationProblems> { .success(configuration) }
}

/// Nothing is ever heard of what it dials.
private final class DeafDialer: TransportDialer {
  private final class Deaf: Transport {
    func send(text: RawSpan) {}
    func send(control text: RawSpan) {}
    func send(binary: RawSpan) {}
    let unsentBytes = 0
    let isCongested = false
    func close() {}
  }

  func dial(_ request: DialRequest, receiver: any TransportReceiver) -> any Transport { Deaf() }
}
