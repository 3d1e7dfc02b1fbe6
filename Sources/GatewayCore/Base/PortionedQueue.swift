/// A queue in memory that may be very long: neither adding nor taking ever moves more than one portion of it, and it can be let
/// go of a portion at a time.
struct PortionedQueue<Element> {
  private var first = Ring<Element>()
  private var middle = Ring<Ring<Element>>()
  private var last = Ring<Element>()
  private(set) var count = 0

  /// Most elements of a portion.
  static var portion: Int { 4_096 }

  var isEmpty: Bool { count == 0 }

  /// The oldest one, or nil.
  var front: Element? { first.first ?? middle.first?.first ?? last.first }

  mutating func append(_ element: consuming Element) {
    if last.count == Self.portion {
      middle.append(last)
      last = Ring()
    }
    last.append(element)
    count += 1
  }

  /// All of them, in one go.
  consuming func drained() -> [Element] {
    var all: [Element] = []
    all.reserveCapacity(count)
    while let next = popFirst() { all.append(next) }
    return all
  }

  mutating func popFirst() -> Element? {
    if first.count == 0 { takePortion() }
    guard let element = first.popFirst() else { return nil }
    count -= 1
    return element
  }

  /// Lets go of the oldest portion.
  mutating func dropPortion() {
    if first.count == 0 { takePortion() }
    count -= first.count
    first = Ring()
  }

  private mutating func takePortion() {
    if let next = middle.popFirst() {
      first = next
    } else {
      (first, last) = (last, Ring())
    }
  }
}

extension SlicedWork {
  /// Frees what nobody wants any more: of a long queue one portion in each turn.
  func release<Element>(_ queue: consuming PortionedQueue<Element>, for account: Account) {
    guard queue.count > PortionedQueue<Element>.portion else { return }
    var rest = queue
    add(for: account) {
      rest.dropPortion()
      return rest.isEmpty
    }
  }
}
