/// Values by numbers that this daemon gave away itself, mostly one after the other, such as those of calls and
/// acknowledgements. Finding one costs a multiplication and mostly one comparison, a fifth of what a dictionary takes,
/// whose hash also withstands keys that an attacker chose. Keys from outside may be looked for but not put in. Decision
/// 0074.
struct NumberTable<Value> {
  /// A power of two of places, of which at most three quarters are taken; none before the first value. What does not
  /// find its place free stands in the next free one.
  private var keys: ContiguousArray<UInt64> = []
  /// Apart from the keys, so that a search touches nothing else.
  private var slots: ContiguousArray<Value?> = []
  private(set) var count = 0
  /// Marks a free place. No counter ever gets so far.
  private static var free: UInt64 { .max }
  /// A table that is larger than this gives its memory back when it is empty.
  private static var keptCapacity: Int { 64 }

  init() {}

  /// With room for so many values.
  init(room: Int) {
    var capacity = 4
    while room &* 4 > capacity &* 3 { capacity &*= 2 }
    makePlaces(capacity)
  }

  var isEmpty: Bool { count == 0 }

  /// All keys and values, in no order.
  var pairs: some Sequence<(key: UInt64, value: Value)> {
    zip(keys, slots).lazy.compactMap { pair -> (key: UInt64, value: Value)? in
      pair.1.map { (key: pair.0, value: $0) }
    }
  }

  /// All keys, in no order; no value is looked at.
  var allKeys: [UInt64] { keys.filter { $0 != Self.free } }

  /// All values, in no order.
  var values: some Sequence<Value> { slots.lazy.compactMap { $0 } }

  /// The key must not be `UInt64.max` when a value is put in.
  subscript(key: UInt64) -> Value? {
    get { place(of: key).flatMap { slots[$0] } }
    set {
      if let newValue { set(newValue, for: key) } else { removeValue(forKey: key) }
    }
  }

  /// Changes a value in its place; nil where there is none.
  @inline(__always)
  mutating func update<Result>(_ key: UInt64, _ change: (inout Value) -> Result) -> Result? {
    guard let place = place(of: key) else { return nil }
    return change(&slots[place]!)
  }

  /// Whether there is a value.
  func contains(_ key: UInt64) -> Bool { place(of: key) != nil }

  /// Takes a value out; nil if there is none.
  @discardableResult
  mutating func removeValue(forKey key: UInt64) -> Value? {
    guard let place = place(of: key) else { return nil }
    let removed = slots[place].take()
    free(place)
    return removed
  }

  /// Nothing stands at a place any more.
  @inline(__always)
  private mutating func free(_ place: Int) {
    count &-= 1
    if count == 0, slots.count > Self.keptCapacity { removeAll() } else { close(place) }
  }

  /// Whatever was pushed on by what has gone from a place moves up, so that searches need not go over holes.
  private mutating func close(_ place: Int) {
    let mask = keys.count &- 1
    var hole = place
    var next = place
    while true {
      next = (next &+ 1) & mask
      guard keys[next] != Self.free else { break }
      if (next &- home(of: keys[next])) & mask >= (next &- hole) & mask {
        keys[hole] = keys[next]
        slots.swapAt(hole, next)
        hole = next
      }
    }
    keys[hole] = Self.free
  }

  /// Hands everything out, in no order, and forgets it.
  mutating func drain(_ body: (UInt64, consuming Value) -> Void) {
    // From the end: no place is left to be looked at once more when the memory goes.
    while let slot = slots.popLast() { if let value = slot { body(keys[slots.count], value) } }
    removeAll()
  }

  /// Forgets everything.
  mutating func removeAll() {
    keys = []
    slots = []
    count = 0
  }

  private mutating func set(_ value: consuming Value, for key: UInt64) {
    let place = makePlace(for: key)
    slots[place] = value
  }

  /// Where the value of a key stands, or is to be put at once.
  @inline(__always)
  private mutating func makePlace(for key: UInt64) -> Int {
    precondition(key != Self.free)
    if (count &+ 1) &* 4 > keys.count &* 3, !contains(key) { grow() }
    let mask = keys.count &- 1
    var at = home(of: key)
    while keys[at] != key {
      guard keys[at] != Self.free else {
        keys[at] = key
        count &+= 1
        return at
      }
      at = (at &+ 1) & mask
    }
    return at
  }

  private mutating func grow() {
    let (held, capacity) = (count, keys.count)
    var old = NumberTable()
    swap(&self, &old)
    makePlaces(max(4, capacity &* 2))
    count = held
    old.drain { put($1, for: $0) }
  }

  /// All of them free.
  private mutating func makePlaces(_ capacity: Int) {
    keys = ContiguousArray(repeating: Self.free, count: capacity)
    slots = ContiguousArray(repeating: nil, count: capacity)
  }

  /// Puts what is not there yet into the first free place.
  private mutating func put(_ value: consuming Value, for key: UInt64) {
    var at = home(of: key)
    while keys[at] != Self.free { at = (at &+ 1) & (keys.count &- 1) }
    keys[at] = key
    slots[at] = value
  }

  @inline(__always)
  private func place(of key: UInt64) -> Int? {
    guard count > 0, key != Self.free else { return nil }
    let mask = keys.count &- 1
    var at = home(of: key)
    while keys[at] != key {
      guard keys[at] != Self.free else { return nil }
      at = (at &+ 1) & mask
    }
    return at
  }

  /// Where a key belongs: numbers that follow each other are spread over the whole table.
  @inline(__always)
  private func home(of key: UInt64) -> Int {
    Int(truncatingIfNeeded: (key &* 0x9e37_79b9_7f4a_7c15) &>> 32) & (keys.count &- 1)
  }
}

extension NumberTable where Value == Int {
  /// Counts more of a key, or with a negative sign fewer; a key of which none is left is forgotten.
  mutating func add(_ more: Int, to key: UInt64) {
    let place = makePlace(for: key)
    let sum = (slots[place] ?? 0) + more
    slots[place] = sum == 0 ? nil : sum
    if sum == 0 { free(place) }
  }
}

extension NumberTable: Equatable where Value: Equatable {
  /// Where they hold the same.
  static func == (a: Self, b: Self) -> Bool {
    a.count == b.count && a.pairs.allSatisfy { b[$0.key] == $0.value }
  }
}

extension NumberTable: Sendable where Value: Sendable {}
