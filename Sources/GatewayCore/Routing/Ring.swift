/// A queue in memory that is used again: what goes makes room for what comes, and nothing is moved.
struct Ring<Element> {
  /// As many places as a power of two; those outside of the ring are nil.
  private var places: ContiguousArray<Element?> = []
  private var head = 0
  private(set) var count = 0
  /// Places that an empty ring keeps.
  private static var keptPlaces: Int { 64 }

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

  mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    let element = places[head].take()
    head = place(1)
    count &-= 1
    if count == 0, places.count > Self.keptPlaces { (places, head) = ([], 0) }
    return element
  }

  @inline(__always)
  private func place(_ offset: Int) -> Int { (head &+ offset) & (places.count &- 1) }

  private mutating func grow() {
    var larger: ContiguousArray<Element?> = []
    larger.reserveCapacity(max(8, places.count * 2))
    for offset in 0..<count { larger.append(places[place(offset)]) }
    larger.append(contentsOf: repeatElement(nil, count: max(8, places.count * 2) - count))
    (places, head) = (larger, 0)
  }
}
