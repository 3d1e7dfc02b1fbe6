/// A fleet's engine as one upstream uses it: the one that all upstreams share or, in a cluster, one of its own, at the node
/// that has the upstream's keys.
final class RedisShare: FleetEngine {
  let place: FleetPlace
  private var engine: RedisEngine
  private var isOwn = false
  private var receivers: [Receiver] = []

  private struct Receiver {
    weak var receiver: (any FleetEngineReceiver)?
  }

  init(_ place: FleetPlace, of engine: RedisEngine) { (self.place, self.engine) = (place, engine) }

  deinit { if isOwn { engine.close() } }

  /// One that no other upstream uses. What the shared one has told is over.
  func use(_ engine: RedisEngine) {
    for receiver in receivers { if let receiver = receiver.receiver { self.engine.remove(receiver) } }
    (self.engine, isOwn) = (engine, true)
    for receiver in receivers { if let receiver = receiver.receiver { engine.add(receiver) } }
  }

  var server: FleetServer? { engine.server }
  var failure: UpstreamFailure? { engine.failure }
  var vainFailure: UpstreamFailure? { engine.vainFailure }
  var roundTrip: Duration? { engine.roundTrip }
  func refusal(of place: FleetPlace) -> UpstreamFailure? { engine.refusal(of: place) }
  /// The fleet listens at the engine that all share.
  var onReport: (FleetReport) -> Void {
    get { engine.onReport }
    set { engine.onReport = newValue }
  }

  func add(_ receiver: any FleetEngineReceiver) {
    receivers.removeAll { $0.receiver == nil }
    receivers.append(Receiver(receiver: receiver))
    engine.add(receiver)
  }

  func remove(_ receiver: any FleetEngineReceiver) {
    receivers.removeAll { $0.receiver == nil || $0.receiver === receiver }
    engine.remove(receiver)
  }

  func append(
    _ fields: FleetFields, to key: FleetKey, at position: FleetPosition?,
    _ done: @escaping (FleetOutcome<FleetPosition>) -> Void
  ) {
    engine.append(fields, to: key, at: position, done)
  }

  func trim(_ key: FleetKey, before position: FleetPosition) { engine.trim(key, before: position) }

  func newest(of key: FleetKey, _ done: @escaping (FleetOutcome<FleetRecord?>) -> Void) {
    engine.newest(of: key, done)
  }

  func readOn(_ key: FleetKey, after position: FleetPosition, for receiver: any FleetEngineReceiver) {
    engine.readOn(key, after: position, for: receiver)
  }

  func readNoMore(_ key: FleetKey, for receiver: any FleetEngineReceiver) { engine.readNoMore(key, for: receiver) }

  func note(hosts: Int, of place: FleetPlace) { engine.note(hosts: hosts, of: place) }

  func names(of key: FleetKey, _ done: @escaping (FleetOutcome<FleetNames>) -> Void) { engine.names(of: key, done) }

  func sizes(of key: FleetKey, _ names: [String], _ done: @escaping (FleetOutcome<[Int]>) -> Void) {
    engine.sizes(of: key, names, done)
  }

  func rows(of key: FleetKey, _ names: [String]?, _ done: @escaping (FleetOutcome<[String: [UInt8]]>) -> Void) {
    engine.rows(of: key, names, done)
  }

  func remove(_ names: [String], of key: FleetKey, _ done: @escaping (FleetOutcome<Void>) -> Void) {
    engine.remove(names, of: key, done)
  }

  func run<Step: FleetStep>(_ step: Step, _ done: @escaping (FleetOutcome<Step.Result>) -> Void) {
    engine.run(step, done)
  }

  func distrust() { engine.distrust() }
}
