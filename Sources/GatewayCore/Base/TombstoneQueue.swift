/// Elements in the order of their places, which are numbers. Taking one out leaves a tombstone, which goes when it
/// surfaces or when tombstones are the majority: nothing is moved for it, and a queue that was long once gives its
/// memory back.
struct TombstoneQueue<Element> {
  private struct Slot {
    var place: UInt64
    /// Nil in a tombstone.
    var element: Element?
  }

  private var slots: ContiguousArray<Slot> = []
  /// Where the first element stands.
  private var head = 0
  private(set) var count = 0
  /// The place that `makePlace` gives next.
  private(set) var endPlace: UInt64 = 0

  var isEmpty: Bool { count == 0 }
  var first: Element? { head < slots.count ? slots[head].element : nil }
  var firstPlace: UInt64? { head < slots.count ? slots[head].place : nil }

  /// The last one and its place; tombstones at the end are stepped over.
  var last: (place: UInt64, element: Element)? {
    guard let slot = slots[head...].last(where: { $0.element != nil }) else { return nil }
    return slot.element.map { (slot.place, $0) }
  }

  /// All of them, in order.
  var all: some Sequence<Element> { slots[head...].lazy.compactMap(\.element) }

  /// Elements and tombstones. For tests.
  var slotCount: Int { slots.count }

  /// The first place from that one on at which an element stands; nil when there is none.
  func nextPlace(from place: UInt64) -> UInt64? {
    var index = index(of: place)
    while index < slots.count, slots[index].element == nil { index += 1 }
    return index < slots.count ? slots[index].place : nil
  }

  /// What stands at a place.
  subscript(place: UInt64) -> Element? {
    let index = index(of: place)
    return index < slots.count && slots[index].place == place ? slots[index].element : nil
  }

  /// Where the element of a place stands, or would.
  private func index(of place: UInt64) -> Int {
    // Nearly always it is the first one or a new one that is asked for.
    guard head < slots.count, place > slots[head].place else { return head }
    var high = slots.count - 1
    if place > slots[high].place { return slots.count }
    // None stands further behind the first one than their places differ.
    let distance = place - slots[head].place
    if distance < UInt64(high - head) { high = head + Int(distance) }
    if slots[high].place == place { return high }
    var low = head
    while low < high {
      let middle = (low + high) / 2
      if slots[middle].place < place { low = middle + 1 } else { high = middle }
    }
    return low
  }

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

  /// Puts an element at a place; what stands there gives way.
  mutating func insert(_ element: Element, at place: UInt64) {
    let slot = Slot(place: place, element: element)
    let index = index(of: place)
    if index < slots.count, slots[index].place == place {
      if slots[index].element == nil { count += 1 }
      slots[index] = slot
      return
    }
    count += 1
    if index == head, head > 0 {
      head -= 1
      slots[head] = slot
    } else if index == slots.count {
      slots.append(slot)
    } else {
      slots.insert(slot, at: index)
    }
  }

  /// Puts elements at places where none stands, in the order of these: one pass, however many they are.
  mutating func insert(_ elements: [(place: UInt64, element: Element)]) {
    guard elements.count > 1 else {
      for (place, element) in elements { insert(element, at: place) }
      return
    }
    var merged: ContiguousArray<Slot> = []
    merged.reserveCapacity(count + elements.count)
    for (place, element) in elements {
      moveFirst(to: &merged) { $0 < place }
      merged.append(Slot(place: place, element: element))
    }
    moveFirst(to: &merged) { _ in true }
    (slots, head, count) = (merged, 0, merged.count)
  }

  /// Takes out what stands at a place; nil if nothing does.
  @discardableResult
  mutating func remove(at place: UInt64) -> Element? {
    let index = index(of: place)
    guard index < slots.count, slots[index].place == place else { return nil }
    guard let element = slots[index].element.take() else { return nil }
    count -= 1
    forgetTombstones()
    return element
  }

  /// Takes the first one out.
  mutating func popFirst() -> Element? { firstPlace.flatMap { remove(at: $0) } }

  private mutating func forgetTombstones() {
    while head < slots.count, slots[head].element == nil { head += 1 }
    if count == 0, slots.capacity <= 128 {
      slots.removeAll(keepingCapacity: true)
    } else if slots.count > 64, count < slots.count / 2 {
      var rest: ContiguousArray<Slot> = []
      rest.reserveCapacity(count)
      moveFirst(to: &rest) { _ in true }
      slots = rest
    } else {
      return
    }
    head = 0
  }

  /// Moves the elements out whose places are meant, up to the first that is not. Copies would be counted in every element,
  /// which for tens of thousands of them takes a hundred times as long.
  private mutating func moveFirst(to other: inout ContiguousArray<Slot>, while isMeant: (UInt64) -> Bool) {
    while head < slots.count, isMeant(slots[head].place) {
      if let element = slots[head].element.take() { other.append(Slot(place: slots[head].place, element: element)) }
      head += 1
    }
  }

  /// Takes everything out; the places go on.
  mutating func removeAll() { (slots, head, count) = ([], 0, 0) }

  /// Room for so many more, so that it does not grow step by step.
  mutating func reserve(_ more: Int) { slots.reserveCapacity(slots.count + more) }
}
