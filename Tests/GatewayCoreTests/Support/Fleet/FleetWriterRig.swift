import Testing

@testable import GatewayCore

/// A writer of one conversation whose hosts are written down by hand, before a server that notes what it is told.
final class FleetWriterRig {
  let scene = FleetScene()
  let sink = FleetSink()
  /// What the connection itself says.
  let channel: any UpstreamChannel
  let writer: FleetWriter
  let conversation: UInt64
  private let owner = FleetOwner()
  private let connector: FleetTapConnector

  init() throws {
    let own = scene.take("a")
    conversation = scene.open(own)
    connector = FleetTapConnector(sink)
    channel = connector.dial(owner: owner)
    let (tap, sink) = (try #require(connector.tap), sink)
    writer = FleetWriter(
      FleetOpened(conversation: conversation, up: .start), own, scene.place, engine: scene.engine, timers: scene.timers,
      tap: tap, confirmed: .all, tries: FleetTries(timers: scene.timers), outcomes: FleetOutcomes(),
      wall: { [scene] in scene.time.wallMilliseconds }
    ) { sink.check($0, acknowledged: $1) }
    writer.beginReading()
  }

  func carry(_ sends: [FleetSend]) {
    let found = FleetFindings(sends)
    while !found.isEmpty { writer.carry(found.takePortion()) }
  }

  func say(
    _ number: UInt64, _ text: String, host: String = "b", life: UInt64 = 1, ack: UInt64? = nil, row: String? = nil
  ) {
    let call = FleetUpEntry.Call.write(PreparedMessage(event: "m", body: Array(text.utf8)), ack: ack, row: row)
    writer.take(FleetUpEntry(host: host, life: life, conversation: conversation, number: number, call: call))
    writer.flush()
  }

  func mayWrite() { writer.mayWrite(until: scene.time.now + .seconds(3)) }

  /// What the host was told.
  func told(_ host: String = "b") -> [FleetReplyEntry.Call] {
    scene.store.records(of: scene.place.key(.replies(host: host)), after: .start)
      .compactMap { FleetReplyEntry($0.fields)?.call }
  }

  /// What the host was told in that life.
  func told(_ host: String = "b", life: UInt64) -> [FleetReplyEntry.Call] {
    scene.store.records(of: scene.place.key(.replies(host: host)), after: .start)
      .compactMap { FleetReplyEntry($0.fields) }.filter { $0.life == life }.map(\.call)
  }
}
