/// First in, first out.
struct Queue<Element> {
  private var elements: [Element?] = []
  private var head = 0

  var count: Int { elements.count - head }
  var isEmpty: Bool { count == 0 }
  var last: Element? { isEmpty ? nil : elements[elements.count - 1] }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func replaceLast(with element: Element) { elements[elements.count - 1] = element }

  mutating func popFirst() -> Element? {
    guard head < elements.count else { return nil }
    let first = elements[head]
    elements[head] = nil
    head += 1
    if head > 32, head * 2 > elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return first
  }

  mutating func removeAll() {
    elements = []
    head = 0
  }
}

extension Queue: Sendable where Element: Sendable {}
