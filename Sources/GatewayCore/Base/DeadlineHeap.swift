/// A binary heap: the least element is at hand.
struct Heap<Element: Comparable> {
  private var elements: ContiguousArray<Element> = []

  var count: Int { elements.count }
  var first: Element? { elements.first }

  mutating func push(_ element: Element) {
    elements.append(element)
    rise(elements.count - 1)
  }

  private mutating func rise(_ start: Int) {
    var child = start
    while child > 0 {
      let parent = (child - 1) / 2
      guard elements[child] < elements[parent] else { return }
      elements.swapAt(child, parent)
      child = parent
    }
  }

  /// Takes the least element out, if there is one.
  mutating func removeFirst() {
    guard !elements.isEmpty else { return }
    elements.swapAt(0, elements.count - 1)
    elements.removeLast()
    sink(0)
  }

  /// What stands at an index, between 0 and `count`.
  subscript(index: Int) -> Element { elements[index] }

  /// Takes out what stands at an index. Another element stands there afterwards, unless it was the last one.
  mutating func remove(at index: Int) {
    elements.swapAt(index, elements.count - 1)
    elements.removeLast()
    guard index < elements.count else { return }
    sink(index)
    rise(index)
  }

  private mutating func sink(_ start: Int) {
    var parent = start
    while true {
      var least = parent
      let left = 2 * parent + 1
      if left < elements.count, elements[left] < elements[least] { least = left }
      if left + 1 < elements.count, elements[left + 1] < elements[least] { least = left + 1 }
      guard least != parent else { return }
      elements.swapAt(parent, least)
      parent = least
    }
  }
}

/// What stands in a `DeadlineHeap`.
protocol DeadlineItem: Comparable {
  /// Whether it still waits for that deadline, by this entry.
  func waits(until deadline: MonotonicInstant) -> Bool
}

/// Items by deadline, the earliest first; equal deadlines in the order of the items. Deadlines that do not decrease, which
/// is what one default time-to-live or time-out gives, stand in a queue: they come at its end and mostly leave at its front.
/// Any other stands in a heap. One that does not wait any more leaves when it surfaces. While such are the majority they
/// are looked for, a few places at each end: to go through tens of thousands at once would hold the loop.
struct DeadlineHeap<Item: DeadlineItem> {
  private struct Entry: Comparable {
    let deadline: MonotonicInstant
    let item: Item

    var waits: Bool { item.waits(until: deadline) }

    static func == (a: Entry, b: Entry) -> Bool { a.deadline == b.deadline && a.item == b.item }
    static func < (a: Entry, b: Entry) -> Bool {
      a.deadline != b.deadline ? a.deadline < b.deadline : a.item < b.item
    }
  }

  /// Those that came no earlier than all that stand here.
  private var queue = Ring<Entry>()
  private var heap = Heap<Entry>()
  /// How many still wait.
  private(set) var count = 0
  /// From where on in the heap, towards the front, those are looked for that do not wait any more; 0 while they are not.
  private var searched = 0
  /// Places of the queue, twice, and of the heap that are looked at in one go.
  private static var step: (queue: Int, heap: Int) { (2, 12) }

  /// Those that wait no more included.
  var entryCount: Int { queue.count + heap.count }

  mutating func push(_ deadline: MonotonicInstant, _ item: consuming Item) {
    let entry = Entry(deadline: deadline, item: item)
    count += 1
    // Nearly always it is later than all that stand in the queue.
    if let last = queue.look(queue.count - 1, { $0.deadline }), deadline <= last, comesBeforeLast(entry) {
      heap.push(entry)
    } else {
      queue.append(entry)
    }
  }

  private func comesBeforeLast(_ entry: Entry) -> Bool { queue.look(queue.count - 1) { entry < $0 } ?? false }

  /// An item that stands here does not wait any more, and says so.
  mutating func noteEnd() {
    count -= 1
    for _ in 0..<Self.step.queue where isFirstOver { _ = queue.popFirst() }
    guard entryCount > 48, count < entryCount / 2 else {
      searched = 0
      return
    }
    // What waits at the front of the queue must not hold up the search behind it.
    for _ in 0..<Self.step.queue { if let entry = queue.popFirst(), entry.waits { heap.push(entry) } }
    searchOn()
  }

  private var isFirstOver: Bool { queue.look(0) { !$0.waits } ?? false }

  private mutating func searchOn() {
    if searched == 0 { searched = heap.count }
    for _ in 0..<Self.step.heap {
      searched = min(searched, heap.count)
      guard searched > 0 else { return }
      // What comes in its place may be one that has not been looked at.
      if heap[searched - 1].waits { searched -= 1 } else { heap.remove(at: searched - 1) }
    }
  }

  /// The earliest that still waits.
  mutating func first() -> (deadline: MonotonicInstant, item: Item)? {
    forgetFirstOver()
    return (isQueueNext ? queue.first : heap.first).map { ($0.deadline, $0.item) }
  }

  /// Its deadline, without a copy of it.
  mutating func firstDeadline() -> MonotonicInstant? {
    forgetFirstOver()
    return isQueueNext ? queue.look(0) { $0.deadline } : heap.first?.deadline
  }

  private mutating func forgetFirstOver() {
    while isFirstOver { _ = queue.popFirst() }
    while let top = heap.first, !top.waits { heap.removeFirst() }
  }

  /// Whether the earliest of all stands in the queue.
  private var isQueueNext: Bool {
    guard let top = heap.first else { return true }
    return queue.look(0) { $0 < top } ?? false
  }

  /// Takes out what `first` returned.
  mutating func removeFirst() {
    if isQueueNext { _ = queue.popFirst() } else { heap.removeFirst() }
    count -= 1
  }
}
