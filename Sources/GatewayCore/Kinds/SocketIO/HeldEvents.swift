/// Events that a server sent before it accepted the namespace: some do so from their connect handlers. They are
/// delivered in order right after the acceptance.
struct HeldEvents: Sendable {
  enum Item: Sendable {
    case event(name: [UInt8], arguments: [UInt8], ack: UInt64?)
    case dropped(GapReason)
    case tooLong(LongEvent)
  }

  /// Most events held; a server that sends more loses its link.
  static let countLimit = 10_000

  /// What an item counts besides its bytes.
  private static let itemCost = 128

  private var items: [Item] = []
  private var bytes = 0
  /// What they take in memory.
  var heldBytes: Int { bytes + items.count * Self.itemCost }
  private let byteLimit: Int

  init(byteLimit: Int) { self.byteLimit = byteLimit }

  /// False when there is no room, and the item is not kept.
  mutating func append(_ item: Item) -> Bool {
    var size = 0
    switch item {
    case .event(let name, let arguments, _): size = name.count + arguments.count
    case .tooLong(let event): size = event.name.count + (event.ending?.count ?? 0)
    case .dropped: break
    }
    guard items.count < Self.countLimit, bytes + size <= byteLimit else { return false }
    bytes += size
    items.append(item)
    return true
  }

  /// Hands everything over, oldest first, and is empty.
  mutating func takeAll() -> [Item] {
    defer {
      items = []
      bytes = 0
    }
    return items
  }
}
