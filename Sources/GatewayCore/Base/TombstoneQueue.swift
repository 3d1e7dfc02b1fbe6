/// Elements in the order of their places, which are numbers. Taking one out leaves a tombstone, which goes when it
/// surfaces at an end or when tombstones are the majority. They stand in a `Ring`: however many there are, one more
/// makes no more than one block of memory, and a queue that was long once gives its memory back.
struct TombstoneQueue<Element> {
  private struct Slot {
    var place: UInt64
    /// Nil in a tombstone.
    var element: Element?
  }

  /// Neither the first nor the last one is a tombstone.
  private var slots = Ring<Slot>()
  private(set) var count = 0
  /// The place that `makePlace` gives next.
  private(set) var endPlace: UInt64 = 0

  var isEmpty: Bool { count == 0 }
  var first: Element? { slots.first?.element }
  @inline(__always)
  var firstPlace: UInt64? { slots.look(0) { $0.place } }

  /// The last one and its place.
  var last: (place: UInt64, element: Element)? {
    guard let slot = slots[slots.count - 1] else { return nil }
    return slot.element.map { (slot.place, $0) }
  }

  /// All of them, in order.
  var all: some Sequence<Element> {
    let slots = slots
    return (0..<slots.count).lazy.compactMap { slots[$0]?.element }
  }

  /// Those from a place on, in order.
  func all(from place: UInt64) -> some Sequence<(place: UInt64, element: Element)> {
    let slots = slots
    return (index(of: place)..<slots.count).lazy.compactMap { index in
      slots[index].flatMap { slot in slot.element.map { (slot.place, $0) } }
    }
  }

  /// Elements and tombstones. For tests.
  var slotCount: Int { slots.count }

  /// The first place from that one on at which an element stands; nil when there is none.
  func nextPlace(from place: UInt64) -> UInt64? {
    var index = index(of: place)
    while isTombstone(index) { index += 1 }
    return slots.look(index) { $0.place }
  }

  /// What stands at a place.
  subscript(place: UInt64) -> Element? {
    guard let slot = slots[index(of: place)], slot.place == place else { return nil }
    return slot.element
  }

  /// Where the element of a place stands, or would.
  private func index(of place: UInt64) -> Int {
    // Nearly always it is the first one or a new one that is asked for.
    guard let first = firstPlace, place > first else { return 0 }
    var high = slots.count - 1
    if place > self.place(high) { return slots.count }
    // None stands further behind the first one than their places differ.
    let distance = place - first
    if distance < UInt64(high) { high = Int(distance) }
    if self.place(high) == place { return high }
    var low = 0
    while low < high {
      let middle = (low + high) / 2
      if self.place(middle) < place { low = middle + 1 } else { high = middle }
    }
    return low
  }

  @inline(__always)
  private func place(_ index: Int) -> UInt64 { slots.look(index) { $0.place } ?? .max }

  @inline(__always)
  private func isTombstone(_ index: Int) -> Bool { slots.look(index) { $0.element == nil } ?? false }

  /// A place at the end, for an element that may come later.
  mutating func makePlace() -> UInt64 {
    defer { endPlace += 1 }
    return endPlace
  }

  /// Puts an element at the end. Returns its place.
  @discardableResult
  mutating func append(_ element: Element) -> UInt64 {
    let place = makePlace()
    insert(element, at: place)
    return place
  }

  /// Puts an element at a place; what stands there gives way. One pass over what stands in front of it, or behind it,
  /// whichever is less.
  mutating func insert(_ element: Element, at place: UInt64) {
    // Nearly always it is a new one.
    guard let last = slots.look(slots.count - 1, { $0.place }), place <= last else {
      count += 1
      return slots.append(Slot(place: place, element: element))
    }
    let index = index(of: place)
    if self.place(index) == place {
      let wasTombstone = slots.update(index) { slot in
        defer { slot.element = element }
        return slot.element == nil
      }
      if wasTombstone == true { count += 1 }
    } else if index < slots.count / 2 {
      insert([(place, element)])
    } else {
      var behind: [Slot] = []
      while slots.count > index, let slot = slots.popLast() { behind.append(slot) }
      slots.append(Slot(place: place, element: element))
      while let slot = behind.popLast() { slots.append(slot) }
      count += 1
    }
  }

  /// Puts elements at places where none stands, in the order of these: one pass over what stands in front of the last of
  /// them, however many they are.
  mutating func insert(_ elements: [(place: UInt64, element: Element)]) {
    var before: [Slot] = []
    for (place, element) in elements {
      while let first = firstPlace, first <= place, let slot = slots.popFirst() {
        if slot.element != nil { before.append(slot) }
      }
      before.append(Slot(place: place, element: element))
    }
    for slot in before.reversed() { slots.prepend(slot) }
    count += elements.count
    forgetTombstones()
  }

  /// Takes out what stands at a place; nil if nothing does.
  @discardableResult
  mutating func remove(at place: UInt64) -> Element? {
    guard place != firstPlace else { return popFirst() }
    let index = index(of: place)
    guard self.place(index) == place else { return nil }
    guard let element = slots.update(index, { $0.element.take() }) ?? nil else { return nil }
    count -= 1
    forgetTombstones()
    return element
  }

  /// Takes the first one out.
  mutating func popFirst() -> Element? {
    guard let element = slots.popFirst()?.element else { return nil }
    count -= 1
    forgetTombstones()
    return element
  }

  private mutating func forgetTombstones() {
    // Most leave in the order in which they came.
    guard slots.count > count else { return }
    while isTombstone(0) { _ = slots.popFirst() }
    while isTombstone(slots.count - 1) { _ = slots.popLast() }
    guard slots.count > 64, count < slots.count / 2 else { return }
    for _ in 0..<slots.count {
      if let slot = slots.popFirst(), slot.element != nil { slots.append(slot) }
    }
  }

  /// Takes everything out; the places go on.
  mutating func removeAll() { (slots, count) = (Ring(), 0) }
}
