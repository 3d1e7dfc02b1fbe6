/// Calls that wait until the holder may write them, in their order.
struct FleetCallQueue {
  struct Item {
    let sender: FleetSender
    let call: FleetUpEntry.Call
    let byteCount: Int

    init(_ sender: FleetSender, _ call: FleetUpEntry.Call) {
      (self.sender, self.call, byteCount) = (sender, call, call.byteCount)
    }

    /// What a host says.
    init(_ entry: FleetUpEntry) {
      var row: String?
      if case .write(_, _, let durable) = entry.call { row = durable }
      self.init(.host(entry.host, life: entry.life, number: entry.number, row: row), entry.call)
    }

    /// A durable send of a host that died.
    init(_ send: FleetSend) {
      let ack: UInt64? = send.entry.retries == nil ? nil : 0
      self.init(.adopted(send.entry.id), .write(send.entry.message, ack: ack, row: nil))
    }
  }

  /// What hosts may have waiting here, in calls and in bytes: beyond it the rest stays in the engine.
  static let limit = (count: 65_536, bytes: 64 << 20)

  private static let droppedAtOnce = 2_048

  private var items = Ring<Item>()
  private var bytes = 0

  var isEmpty: Bool { items.isEmpty }
  /// Bytes of the first one; nil where nothing waits.
  var firstByteCount: Int? { items.look(0) { $0.byteCount } }
  /// Whether more waits than is taken from the engine.
  var isFull: Bool { items.count > Self.limit.count || bytes > Self.limit.bytes }

  mutating func append(_ item: Item) {
    items.append(item)
    bytes += item.byteCount
  }

  /// Takes out the first ones, which nobody waits for any more: as many as one turn has time for.
  mutating func dropPortion() {
    for _ in 0..<min(Self.droppedAtOnce, items.count) { _ = popFirst() }
  }

  mutating func popFirst() -> Item? {
    guard let item = items.popFirst() else { return nil }
    bytes -= item.byteCount
    return item
  }
}
