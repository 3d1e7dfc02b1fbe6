/// A ring that knows the size of what is in it, and forgets the oldest where that is more than its limit.
struct SizedRing<Element> {
  private struct Item {
    var element: Element
    var bytes: Int
  }

  private var items = Ring<Item>()
  /// What all of them count.
  private(set) var bytes = 0
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
    return item.element
  }

  mutating func removeAll() { (items, bytes) = (Ring(), 0) }
}
