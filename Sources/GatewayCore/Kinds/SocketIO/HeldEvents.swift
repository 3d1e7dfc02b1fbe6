/// Events that a server sent before it accepted the namespace: some do so from their connect handlers. They are
/// delivered in order right after the acceptance.
struct HeldEvents {
  enum Item {
    case event(name: [UInt8], arguments: [UInt8], ack: UInt64?)
    case flawed(FlawedEvent)
    case tooLong(LongEvent)
  }

  /// Most events held; a server that sends more loses its link.
  static let countLimit = 10_000

  /// What an item counts besides its bytes.
  private static let itemCost = 128

  private var items: [Item] = []
  private var bytes = 0
  private let byteLimit: Int
  private let memory: MemoryHold

  init(byteLimit: Int, _ memory: MemoryHold) {
    self.byteLimit = byteLimit
    self.memory = memory
  }

  /// False when there is no room, and the item is not kept.
  mutating func append(_ item: Item) -> Bool {
    var size = 0
    switch item {
    case .event(let name, let arguments, _): size = name.count + arguments.count
    case .tooLong(let event): size = event.name.count + (event.ending?.count ?? 0)
    case .flawed(let event): size = (event.name?.count ?? 0) + (event.ending?.count ?? 0)
    }
    guard items.count < Self.countLimit, bytes + size <= byteLimit,
      memory.change(to: bytes + size + (items.count + 1) * Self.itemCost)
    else { return false }
    bytes += size
    items.append(item)
    return true
  }

  /// Hands everything over, oldest first, and is empty.
  mutating func takeAll() -> [Item] {
    defer { removeAll() }
    return items
  }

  mutating func removeAll() {
    items = []
    bytes = 0
    memory.set(0)
  }
}
