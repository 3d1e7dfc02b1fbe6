/// Items ordered by deadline, the earliest first; equal deadlines in the order of the items. A binary heap: pushing
/// deadlines that do not decrease, which is what one default time-to-live or time-out does, costs one comparison each.
struct DeadlineHeap<Item: Comparable> {
  private struct Entry {
    var deadline: MonotonicInstant
    var item: Item

    func isBefore(_ other: Entry) -> Bool {
      deadline != other.deadline ? deadline < other.deadline : item < other.item
    }
  }

  private var heap: ContiguousArray<Entry> = []

  var count: Int { heap.count }

  var first: (deadline: MonotonicInstant, item: Item)? { heap.first.map { ($0.deadline, $0.item) } }

  mutating func push(_ deadline: MonotonicInstant, _ item: Item) {
    heap.append(Entry(deadline: deadline, item: item))
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].isBefore(heap[parent]) else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  /// Takes the item with the earliest deadline out, if there is one.
  mutating func removeFirst() {
    guard !heap.isEmpty else { return }
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    sink(0)
  }

  /// Forgets every item that does not satisfy the condition.
  mutating func keep(_ condition: (MonotonicInstant, Item) -> Bool) {
    heap.removeAll { !condition($0.deadline, $0.item) }
    for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { sink(index) }
  }

  private mutating func sink(_ start: Int) {
    var parent = start
    while true {
      var least = parent
      let left = 2 * parent + 1
      if left < heap.count, heap[left].isBefore(heap[least]) { least = left }
      if left + 1 < heap.count, heap[left + 1].isBefore(heap[least]) { least = left + 1 }
      guard least != parent else { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}
