/// A queue in memory that is used again: what goes makes room for what comes, and nothing is moved, unless the ring has become
/// much too large for what is left in it.
struct Ring<Element> {
  /// As many places as a power of two; those outside of the ring are nil.
  private var places: ContiguousArray<Element?> = []
  private var head = 0
  private(set) var count = 0
  /// Places that an empty ring keeps.
  private static var keptPlaces: Int { 64 }
  /// One place of so many is taken when the ring becomes smaller.
  private static var sparseness: Int { 8 }

  /// For tests.
  var placeCount: Int { places.count }

  var first: Element? { count > 0 ? places[head] : nil }

  /// The element so far behind the first one; nil beyond the last one.
  subscript(_ offset: Int) -> Element? {
    offset >= 0 && offset < count ? places[place(offset)] : nil
  }

  mutating func append(_ element: consuming Element) {
    if count == places.count { grow() }
    places[place(count)] = element
    count &+= 1
  }

  /// Puts one in front of the others.
  mutating func prepend(_ element: consuming Element) {
    if count == places.count { grow() }
    head = place(-1)
    places[head] = element
    count &+= 1
  }

  mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    let element = places[head].take()
    head = place(1)
    count &-= 1
    if places.count > Self.keptPlaces, count <= places.count / Self.sparseness {
      move(to: max(Self.keptPlaces, places.count / 4))
    }
    return element
  }

  @inline(__always)
  private func place(_ offset: Int) -> Int { (head &+ offset) & (places.count &- 1) }

  private mutating func grow() { move(to: max(8, places.count * 2)) }

  /// Other memory, of so many places: a power of two, and not fewer than are taken.
  private mutating func move(to size: Int) {
    var others: ContiguousArray<Element?> = []
    others.reserveCapacity(size)
    for offset in 0..<count { others.append(places[place(offset)].take()) }
    others.append(contentsOf: repeatElement(nil, count: size - count))
    (places, head) = (others, 0)
  }
}
