/// Some of the messages of a connection, by a time and then by their number: looked at from one end, so that nothing goes
/// through all messages for them.
struct EnterOrder {
  /// Where a message stands.
  struct Place: Comparable {
    let time: MonotonicInstant
    let number: Int

    static func < (a: Place, b: Place) -> Bool { a.time != b.time ? a.time < b.time : a.number < b.number }
  }

  private var elements: [(place: Place, message: EnterMessage)] = []

  var first: (place: Place, message: EnterMessage)? { elements.first }
  var last: (place: Place, message: EnterMessage)? { elements.last }

  /// The messages of this time and later ones.
  func messages(from time: MonotonicInstant) -> [EnterMessage] {
    elements[index(of: Place(time: time, number: .min))...].map(\.message)
  }

  /// A message has another place, or none any more.
  mutating func move(_ message: EnterMessage, from old: Place?, to new: Place?) {
    guard old != new else { return }
    if let old { remove(old) }
    if let new { elements.insert((new, message), at: index(of: new)) }
  }

  private mutating func remove(_ place: Place) {
    let index = index(of: place)
    if index < elements.count, elements[index].place == place { elements.remove(at: index) }
  }

  /// Takes out those before this time, and returns them.
  mutating func takeAll(before time: MonotonicInstant) -> [EnterMessage] {
    let count = index(of: Place(time: time, number: .min))
    guard count > 0 else { return [] }
    defer { elements.removeFirst(count) }
    return elements[..<count].map(\.message)
  }

  /// These and no others.
  mutating func set(_ all: [(place: Place, message: EnterMessage)]) {
    elements = all.sorted { $0.place < $1.place }
  }

  /// Where a place is, or would be.
  private func index(of place: Place) -> Int {
    if let last = elements.last, last.place < place { return elements.count }
    var (low, high) = (0, elements.count)
    while low < high {
      let middle = (low + high) / 2
      if elements[middle].place < place { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
