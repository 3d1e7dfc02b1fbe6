/// A ring that knows the size of what is in it, and forgets the oldest where that is more than its limit.
struct SizedRing<Element> {
  private struct Item {
    var element: Element
    var bytes: Int
  }

  private var items = Ring<Item>()
  /// What all of them count.
  private(set) var bytes = 0
  /// Which the first one is, or will be, of all that were ever put in.
  private(set) var firstPlace = 0
  private let limit: (count: Int, bytes: Int)

  /// Without a limit it forgets nothing by itself.
  init(limit: (count: Int, bytes: Int) = (.max, .max)) { self.limit = limit }

  var count: Int { items.count }
  var first: Element? { items.look(0) { $0.element } }
  /// All of them, the oldest first.
  var elements: [Element] { (0..<count).compactMap { items.look($0) { $0.element } } }

  /// Looks at the element so far behind the first one; nil beyond the last one.
  func look<Result>(_ offset: Int, _ look: (Element) -> Result) -> Result? {
    items.look(offset) { look($0.element) }
  }

  /// Looks at those from a place on, in their order, for as long as `takes` says so, which is told what the next one counts.
  /// Returns the place of the next one; nil where there is none.
  func look(from place: Int, while takes: (Int) -> Bool, _ look: (Element) -> Void) -> Int? {
    var offset = max(0, place - firstPlace)
    while offset < count {
      let isTaken = items.look(offset) { item in
        guard takes(item.bytes) else { return false }
        look(item.element)
        return true
      }
      guard isTaken == true else { return firstPlace + offset }
      offset += 1
    }
    return nil
  }

  /// `forget` is told what goes, which may be the new one itself.
  mutating func append(_ element: Element, bytes size: Int, _ forget: (Element) -> Void = { _ in }) {
    items.append(Item(element: element, bytes: size))
    bytes += size
    while count > limit.count || bytes > limit.bytes, let gone = popFirst() { forget(gone) }
  }

  @discardableResult
  mutating func popFirst() -> Element? {
    guard let item = items.popFirst() else { return nil }
    bytes -= item.bytes
    firstPlace += 1
    return item.element
  }

  mutating func removeAll() {
    firstPlace += count
    (items, bytes) = (Ring(), 0)
  }
}
