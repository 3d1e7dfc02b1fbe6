/// Commands in the order of their places. Taking one out leaves a hole, which goes when it surfaces or when the holes are
/// the majority.
struct CommandList {
  /// A command at its place; nil: it was taken out.
  private struct Slot {
    var place: UInt64
    var command: Command?
  }

  private var slots: ContiguousArray<Slot> = []
  /// Where the first command stands.
  private var head = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  var first: Command? { head < slots.count ? slots[head].command : nil }
  /// The last one; holes at the end are stepped over.
  var last: Command? { slots[head...].last { $0.command != nil }?.command }
  var firstPlace: UInt64? { head < slots.count ? slots[head].place : nil }

  /// All of them.
  var all: some Sequence<Command> { slots[head...].lazy.compactMap(\.command) }

  /// The first place from that one on at which a command stands; nil when there is none.
  func nextPlace(from place: UInt64) -> UInt64? {
    var index = index(of: place)
    while index < slots.count, slots[index].command == nil { index += 1 }
    return index < slots.count ? slots[index].place : nil
  }

  /// What stands at a place.
  func command(at place: UInt64) -> Command? {
    let index = index(of: place)
    return index < slots.count && slots[index].place == place ? slots[index].command : nil
  }

  /// Where the command of a place stands, or would.
  private func index(of place: UInt64) -> Int {
    // Nearly always it is the first one or a new one that is asked for.
    guard head < slots.count, place > slots[head].place else { return head }
    if place > slots[slots.count - 1].place { return slots.count }
    var low = head
    var high = slots.count
    while low < high {
      let middle = (low + high) / 2
      if slots[middle].place < place { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Puts a command at a place, which nobody else has.
  mutating func insert(_ command: Command, at place: UInt64) {
    let slot = Slot(place: place, command: command)
    let index = index(of: place)
    count += 1
    if index < slots.count, slots[index].place == place {
      slots[index] = slot
    } else if index == head, head > 0 {
      head -= 1
      slots[head] = slot
    } else if index == slots.count {
      slots.append(slot)
    } else {
      slots.insert(slot, at: index)
    }
  }

  /// Puts commands at their places, which nobody else has, in the order of these: one pass, however many they are.
  mutating func insert(_ commands: [(place: UInt64, command: Command)]) {
    guard commands.count > 1 else {
      for (place, command) in commands { insert(command, at: place) }
      return
    }
    var merged: ContiguousArray<Slot> = []
    merged.reserveCapacity(count + commands.count)
    var rest = slots[head...].lazy.filter { $0.command != nil }.makeIterator()
    var next = rest.next()
    for (place, command) in commands {
      while let slot = next, slot.place < place {
        merged.append(slot)
        next = rest.next()
      }
      merged.append(Slot(place: place, command: command))
    }
    while let slot = next {
      merged.append(slot)
      next = rest.next()
    }
    (slots, head, count) = (merged, 0, merged.count)
  }

  /// Takes a command out of its place, if it stands there.
  mutating func remove(at place: UInt64) {
    let index = index(of: place)
    guard index < slots.count, slots[index].place == place, slots[index].command != nil else { return }
    slots[index].command = nil
    count -= 1
    while head < slots.count, slots[head].command == nil { head += 1 }
    if count == 0, slots.capacity <= 128 {
      slots.removeAll(keepingCapacity: true)
    } else if slots.count > 64, count < slots.count / 2 {
      // A list that was long once gives its memory back.
      slots = ContiguousArray(slots[head...].filter { $0.command != nil })
    } else {
      return
    }
    head = 0
  }

  mutating func reserve(_ more: Int) { slots.reserveCapacity(slots.count + more) }
}
