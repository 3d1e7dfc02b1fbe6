@testable import GatewayCore

/// What the engines of a test have between them: streams and tables in memory, with the rules of Redis. It may be
/// restarted, emptied, and replaced by a replica that lacks what was not copied.
final class FleetStore {
  /// There is no room for entries.
  var isFull = false
  /// There is none for durable sends.
  var isBoxFull = false
  struct Stream: Equatable {
    var records: [FleetRecord] = []
    var last = FleetPosition.start
  }

  struct Content: Equatable {
    var tables: [FleetKey: [String: [UInt8]]] = [:]
    var streams: [FleetKey: Stream] = [:]
  }

  enum Answer: Equatable {
    case reply(FleetReply)
    case fenced
  }

  var content = Content()
  /// The names of all rows that were ever adopted, also where that was undone.
  var adopted: Set<String> = []
  /// What its replica has.
  private(set) var replica = Content()
  private(set) var run = "run1"
  /// Positions that it gives are behind this.
  private var milliseconds: UInt64 = 1_000
  private var runs = 1
  /// The server that takes its place, once it does; nil before.
  private var heir: (run: String, milliseconds: UInt64)?
  private var otherRun = "run0"
  private(set) var isUp = true
  /// Engines that are told of changes and of its end.
  private var listeners: [ObjectIdentifier: FleetStoreListener] = [:]

  // MARK: - Its life

  /// All connections to it end; with `isUp: false` none can be made.
  func stop() {
    isUp = false
    breakConnections()
  }

  func start() {
    isUp = true
    runs += 1
    run = "run\(runs)"
  }

  /// The same content in another process.
  func restart() {
    stop()
    start()
  }

  /// Everything is gone.
  func flush() {
    content = Content()
  }

  func copyToReplica() { if heir == nil { replica = content } }

  /// A replica takes its place, with all that there is, and with a clock of its own. It goes on itself until `failOver`, and
  /// another replica still confirms that, which is told later whose replica it is.
  func beReplaced() {
    guard heir == nil else { return }
    replica = content
    heir = (otherRun, milliseconds)
  }

  /// The replica takes its place, with what it has.
  func failOver() {
    stop()
    content = replica
    guard let (other, milliseconds) = heir else { return start() }
    (heir, isUp, otherRun, run, self.milliseconds) = (nil, true, run, other, milliseconds)
  }

  private func breakConnections() {
    let all = listeners.values.sorted { $0.rank < $1.rank }
    for listener in all { listener.storeBroke() }
  }

  func add(_ listener: any FleetStoreListener) { listeners[ObjectIdentifier(listener)] = listener }
  func remove(_ listener: any FleetStoreListener) { listeners[ObjectIdentifier(listener)] = nil }

  private func changed(_ key: FleetKey) {
    let all = listeners.values.sorted { $0.rank < $1.rank }
    for listener in all { listener.storeChanged(key) }
  }

  // MARK: - Streams and tables

  /// Nil: the position is at or below the last.
  func append(_ fields: FleetFields, to key: FleetKey, at position: FleetPosition?) -> FleetPosition? {
    var stream = content.streams[key] ?? Stream()
    milliseconds += 1
    let place =
      position ?? max(FleetPosition(milliseconds, 0), FleetPosition(stream.last.conversation, stream.last.number + 1))
    guard place > stream.last else { return nil }
    stream.records.append(FleetRecord(position: place, fields: fields))
    stream.last = place
    content.streams[key] = stream
    changed(key)
    return place
  }

  func trim(_ key: FleetKey, before position: FleetPosition) {
    content.streams[key]?.records.removeAll { $0.position < position }
  }

  func records(of key: FleetKey, after position: FleetPosition) -> [FleetRecord] {
    guard let stream = content.streams[key], stream.last > position else { return [] }
    let records = stream.records
    var low = 0
    var high = records.count
    while low < high {
      let middle = (low + high) / 2
      if records[middle].position > position { high = middle } else { low = middle + 1 }
    }
    return Array(records[low...])
  }

  func newest(of key: FleetKey) -> FleetRecord? { content.streams[key]?.records.last }

  func rows(of key: FleetKey) -> [String: [UInt8]] { content.tables[key] ?? [:] }

  func text(_ key: FleetKey, _ name: String) -> String? {
    content.tables[key]?[name].map { String(decoding: $0, as: UTF8.self) }
  }

  func set(_ key: FleetKey, _ rows: [String: String]) {
    for (name, value) in rows { content.tables[key, default: [:]][name] = Array(value.utf8) }
  }

  func set(_ key: FleetKey, _ name: String, _ value: [UInt8]) { content.tables[key, default: [:]][name] = value }

  func remove(_ names: [String], of key: FleetKey) {
    for name in names { content.tables[key]?[name] = nil }
  }
}

/// An engine that is connected to a store.
protocol FleetStoreListener: AnyObject {
  /// The order in which listeners are told.
  var rank: Int { get }
  func storeChanged(_ key: FleetKey)
  func storeBroke()
}
