/// Finds the channels of a namespace by the bytes that a packet names it with, without making a text of them and in the
/// same time for ten of them as for ten thousand.
struct NamespaceIndex {
  /// Those whose names have the same hash. Names that were chosen so that they have share a place, and are compared.
  private var places: [UInt64: [SocketIOChannel]] = [:]
  private var count = 0
  /// The channel, where there is but one, as on most links.
  private(set) var only: SocketIOChannel? {
    didSet { onlyID = only.map(ObjectIdentifier.init) }
  }
  private var onlyID: ObjectIdentifier?

  mutating func add(_ channel: SocketIOChannel) {
    let name = channel.namespace
    places[Self.hash(name.span.bytes), default: []].append(channel)
    count += 1
    only = count == 1 ? channel : nil
  }

  /// Takes a channel out that was added under this name. Returns whether it was there.
  @discardableResult
  mutating func remove(_ channel: SocketIOChannel, named name: [UInt8]) -> Bool {
    let hash = Self.hash(name.span.bytes)
    guard let index = places[hash]?.firstIndex(where: { $0 === channel }) else { return false }
    places[hash]?.remove(at: index)
    if places[hash]?.isEmpty == true { places[hash] = nil }
    count -= 1
    only = count == 1 ? places.values.first?.first : nil
    return true
  }

  func isOnly(_ channel: SocketIOChannel) -> Bool { onlyID == ObjectIdentifier(channel) }

  mutating func removeAll() { self = NamespaceIndex() }

  /// The first channel of a namespace that `isWanted`.
  func first(_ namespace: RawSpan, where isWanted: (SocketIOChannel) -> Bool) -> SocketIOChannel? {
    if let only { return only.isNamed(namespace) && isWanted(only) ? only : nil }
    guard let candidates = places[Self.hash(namespace)] else { return nil }
    for channel in candidates where channel.isNamed(namespace) && isWanted(channel) { return channel }
    return nil
  }

  /// FNV-1a.
  private static func hash(_ name: RawSpan) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for index in 0..<name.byteCount {
      hash = (hash ^ UInt64(JSONScanner.byte(name, index))) &* 0x100_0000_01b3
    }
    return hash
  }
}
