/// A dictionary that grows and shrinks a little at a time (linear hashing), for what may become tens of thousands of
/// values. A `Dictionary` that is full hashes all its keys again in one go: with 100,000 texts that holds the loop for
/// 35 ms. Here the values lie in many small tables by the hashes of their keys, which are kept; each 96 values more
/// divide one of the tables. Keys may come from outside. Decision 0121.
struct IncrementalTable<Key: Hashable, Value> {
  private struct Slot {
    let key: Key
    var value: Value
  }

  /// By the last bits of the hash. As many of them as the number of pieces exceeds a power of two are divided by one bit
  /// more than the others.
  private var pieces: ContiguousArray<NumberTable<Slot>> = [NumberTable()]
  /// Keys with the hash of another one, which as good as never happens.
  private var alike: [Slot] = []
  private(set) var count = 0

  /// Values per piece, on average: with more a piece is divided in two.
  private static var fullPiece: Int { 96 }
  /// With fewer two become one.
  private static var sparsePiece: Int { 32 }

  init() {}

  var isEmpty: Bool { count == 0 }

  /// How many values lie together, at most: what one division moves. For tests.
  var fullestPiece: Int { pieces.reduce(0) { max($0, $1.count) } }
  /// For tests.
  var pieceCount: Int { pieces.count }

  /// All keys and values, in no order.
  var pairs: some Sequence<(key: Key, value: Value)> {
    [AnySequence(alike), AnySequence(pieces.lazy.flatMap(\.values))].lazy.joined().lazy.map { ($0.key, $0.value) }
  }

  /// All values, in no order.
  var values: some Sequence<Value> { pairs.lazy.map(\.value) }

  subscript(key: Key) -> Value? {
    get {
      let hash = Self.hash(key)
      guard let slot = pieces[place(of: hash)][hash] else { return nil }
      return slot.key == key ? slot.value : alike.first { $0.key == key }?.value
    }
    set {
      if let newValue { updateValue(newValue, forKey: key) } else { removeValue(forKey: key) }
    }
  }

  /// Puts a value in. Returns the one whose place it takes.
  @discardableResult
  mutating func updateValue(_ value: Value, forKey key: Key) -> Value? {
    let hash = Self.hash(key)
    let piece = place(of: hash)
    if let slot = pieces[piece][hash] {
      guard slot.key != key else {
        pieces[piece][hash] = Slot(key: key, value: value)
        return slot.value
      }
      if let index = alike.firstIndex(where: { $0.key == key }) {
        defer { alike[index].value = value }
        return alike[index].value
      }
      alike.append(Slot(key: key, value: value))
    } else {
      pieces[piece][hash] = Slot(key: key, value: value)
    }
    count += 1
    if count > pieces.count * Self.fullPiece { divideOne() }
    return nil
  }

  /// Changes a value in its place, without a copy of it. False where there is none.
  mutating func update(_ key: Key, _ change: (inout Value) -> Void) -> Bool {
    let hash = Self.hash(key)
    let isFound = pieces[place(of: hash)].update(hash) { slot in
      guard slot.key == key else { return false }
      change(&slot.value)
      return true
    }
    guard isFound == false else { return isFound == true }
    guard let index = alike.firstIndex(where: { $0.key == key }) else { return false }
    change(&alike[index].value)
    return true
  }

  /// Takes a value out; nil if there is none.
  @discardableResult
  mutating func removeValue(forKey key: Key) -> Value? {
    let hash = Self.hash(key)
    let piece = place(of: hash)
    guard let slot = pieces[piece][hash] else { return nil }
    var removed = slot.value
    if slot.key != key {
      guard let index = alike.firstIndex(where: { $0.key == key }) else { return nil }
      removed = alike.remove(at: index).value
    } else if !alike.isEmpty, let index = alike.firstIndex(where: { Self.hash($0.key) == hash }) {
      pieces[piece][hash] = alike.remove(at: index)
    } else {
      pieces[piece][hash] = nil
    }
    count -= 1
    if count < (pieces.count - 1) * Self.sparsePiece { joinLast() }
    return removed
  }

  /// Takes out the keys and values that lie together in the last piece, perhaps none: what one turn has time for.
  mutating func popPiece() -> [(key: Key, value: Value)] {
    var taken = alike
    alike = []
    var last = NumberTable<Slot>()
    if pieces.count > 1 { last = pieces.removeLast() } else { swap(&last, &pieces[0]) }
    last.drain { _, slot in taken.append(slot) }
    count -= taken.count
    return taken.map { ($0.key, $0.value) }
  }

  /// As `NumberTable` takes it: never `UInt64.max`.
  private static func hash(_ key: Key) -> UInt64 { UInt64(UInt(bitPattern: key.hashValue)) &>> 1 }

  private func place(of hash: UInt64) -> Int { Self.place(of: hash, in: pieces.count) }

  /// In which of so many pieces a hash belongs.
  private static func place(of hash: UInt64, in count: Int) -> Int {
    let half = lastPowerOfTwo(count)
    let place = Int(truncatingIfNeeded: hash) & (2 &* half &- 1)
    return place < count ? place : place &- half
  }

  /// The largest power of two up to a number.
  private static func lastPowerOfTwo(_ number: Int) -> Int { 1 &<< (Int.bitWidth &- 1 &- number.leadingZeroBitCount) }

  /// A further piece takes what belongs there now out of the only one that has any of it.
  private mutating func divideOne() {
    let last = pieces.count
    let divided = last - Self.lastPowerOfTwo(last)
    var all = NumberTable<Slot>()
    swap(&all, &pieces[divided])
    // About half of it goes. A piece that is divided late has up to twice `fullPiece`, which is made room for at once.
    var (stays, goes) = (NumberTable<Slot>(room: 2 * Self.fullPiece), NumberTable<Slot>(room: 2 * Self.fullPiece))
    all.drain { hash, slot in
      if Self.place(of: hash, in: last + 1) == last { goes[hash] = slot } else { stays[hash] = slot }
    }
    pieces[divided] = stays
    pieces.append(goes)
  }

  /// The last piece goes back into the one that it was divided from.
  private mutating func joinLast() {
    guard let last = pieces.popLast() else { return }
    let joined = pieces.count - Self.lastPowerOfTwo(pieces.count)
    for (hash, slot) in last.pairs { pieces[joined][hash] = slot }
  }
}
