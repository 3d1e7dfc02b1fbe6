import Testing

@testable import GatewayCore

/// Two hosts' engines on one server, which is empty in the beginning.
protocol FleetEngineBench: AnyObject {
  var engine: any FleetEngine { get }
  var other: any FleetEngine { get }
  /// Which process the server is.
  var run: String { get }
  /// Goes on until the condition holds; false where it never will.
  func goOn(until condition: () -> Bool) throws -> Bool
}

extension FleetEngineBench {
  var place: FleetPlace { FleetPlace(fleet: "f", upstream: "u") }

  /// The outcome of one call.
  func outcome<Value>(_ ask: (@escaping (FleetOutcome<Value>) -> Void) -> Void) throws -> FleetOutcome<Value> {
    var outcome: FleetOutcome<Value>?
    ask { outcome = $0 }
    #expect(outcome == nil, "it was told from within the call")
    _ = try goOn { outcome != nil }
    return try #require(outcome)
  }

  func done<Value>(_ ask: (@escaping (FleetOutcome<Value>) -> Void) -> Void) throws -> Value {
    guard case .done(let value) = try outcome(ask) else { throw NotDone() }
    return value
  }

  func step<Step: FleetStep>(_ step: Step) throws -> FleetOutcome<Step.Result> {
    try outcome { engine.run(step, $0) }
  }

  func append(_ number: UInt64, at position: FleetPosition?, to part: FleetKey.Part = .events) throws -> FleetOutcome<
    FleetPosition
  > {
    try outcome { engine.append(Self.fields(number), to: place.key(part), at: position, $0) }
  }

  func rows(_ part: FleetKey.Part, _ names: [String]? = nil) throws -> [String: [UInt8]] {
    try done { engine.rows(of: place.key(part), names, $0) }
  }

  func names(_ part: FleetKey.Part) throws -> [String] {
    try done { engine.names(of: place.key(part), $0) }.all
  }

  func take(_ host: String, _ seen: FleetSight = FleetSight(), sequence: UInt64 = 0) throws -> FleetTaken? {
    guard
      case .done(let taken) = try step(FleetTake(place: place, host: host, seen: seen, run: run, sequence: sequence))
    else { throw NotDone() }
    return taken
  }

  /// Bytes of every kind, and a number.
  static func fields(_ number: UInt64) -> FleetFields {
    var fields = FleetFields()
    fields.add("n", number)
    fields.add("b", [0, 10, 13, 255, 36])
    fields.add("", [])
    return fields
  }
}

struct NotDone: Error {}

extension FleetNames {
  /// All of them, as the engine has answered them.
  var all: [String] {
    var (rest, all) = (self, [String]())
    while !rest.isEmpty { all = rest.takePortion() + all }
    return all
  }
}

/// Keeps what it hears of streams.
final class FleetEngineListener: FleetEngineReceiver {
  enum Word: Equatable {
    case gained(String)
    case lost
    case record(String, FleetPosition)
    case end(String)
  }

  var words: [Word] = []
  var records: [FleetRecord] = []
  var onRead: (FleetKey) -> Void = { _ in }
  var refusals: [String] = []
  var misses = 0
  /// Streams of which it heard that they cannot be read.
  var refusedReads: [String] = []

  func engineRefused(_ failure: UpstreamFailure, of place: FleetPlace) { refusals.append(failure.detail) }
  func engineGained(_ server: FleetServer) { words.append(.gained(server.run)) }
  func engineLost(_ failure: UpstreamFailure) { words.append(.lost) }
  func engineMissed() { misses += 1 }
  func engineRefusedReading(of key: FleetKey) { refusedReads.append(key.word) }
  func engineReachedEnd(of key: FleetKey) { words.append(.end(key.word)) }

  func engineRead(_ records: [FleetRecord], of key: FleetKey) {
    self.records += records
    words += records.map { .record(key.word, $0.position) }
    onRead(key)
  }

  func positions(of word: String) -> [FleetPosition] {
    words.compactMap { if case .record(word, let position) = $0 { position } else { nil } }
  }
}

extension FleetKey {
  /// The last word of its name.
  fileprivate var word: String { String(text.drop { $0 != "}" }.dropFirst(2)) }
}

extension FleetEngineListener {
  /// Bytes that have a meaning in packed fields and in Redis' own lines.
  static var sample: FleetFields {
    var fields = FleetFields()
    fields.add("k", "3")
    fields.add("a", Array("\r\n$3:1:+\0".utf8))
    fields.add("a", [])
    return fields
  }
}
