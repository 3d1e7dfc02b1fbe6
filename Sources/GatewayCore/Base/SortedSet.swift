/// Elements in their order, each once. They stand in blocks of at most 256: however many there are, one more or one less
/// moves no more than a block and the list of the blocks.
struct SortedSet<Element: Comparable> {
  /// None is empty.
  private var blocks: [[Element]] = []
  private(set) var count = 0

  /// Most elements of one block.
  static var blockLimit: Int { 256 }

  init() {}

  init(only element: Element) { (blocks, count) = ([[element]], 1) }

  var isEmpty: Bool { count == 0 }

  /// What any of these has, in its order, each once.
  static func union(_ sets: [Self]) -> [Element] {
    var all: [Element] = []
    all.reserveCapacity(sets.reduce(0) { $0 + $1.count })
    for set in sets { for block in set.blocks { all += block } }
    guard sets.count > 1 else { return all }
    all.sort()
    var each: [Element] = []
    each.reserveCapacity(all.count)
    for element in all where each.last != element { each.append(element) }
    return each
  }

  /// All of them, in their order.
  var all: some Sequence<Element> { blocks.lazy.joined() }

  func contains(_ element: Element) -> Bool { place(of: element) != nil }

  var last: Element? { blocks.last?.last }

  /// The first one behind an element, which may be gone by now; nil: the first of all.
  func first(behind element: Element?) -> Element? {
    guard let element else { return blocks.first?.first }
    let block = block(for: element)
    guard block < blocks.count else { return nil }
    let all = blocks[block]
    let index = Self.index(where: { element < all[$0] }, all.count)
    if index < all.count { return all[index] }
    return block + 1 < blocks.count ? blocks[block + 1].first : nil
  }

  /// So many at most that stand behind an element, which may be gone by now; nil: the first of all.
  func next(_ limit: Int, behind element: Element?) -> [Element] {
    var found: [Element] = []
    var place = element.map { block(for: $0) } ?? 0
    while place < blocks.count, found.count < limit {
      let all = blocks[place]
      let rest =
        element.map { element in all.dropFirst(Self.index(where: { element < all[$0] }, all.count)) } ?? all[...]
      found += rest.prefix(limit - found.count)
      place += 1
    }
    return found
  }

  /// False: it is there already.
  @discardableResult
  mutating func insert(_ element: Element) -> Bool {
    let block = block(for: element)
    guard block < blocks.count else {
      blocks.append([element])
      count += 1
      return true
    }
    let index = index(of: element, in: block)
    if index < blocks[block].count, !(element < blocks[block][index]) { return false }
    count += 1
    // Most come in their order: a full block stays full then.
    if index == Self.blockLimit {
      blocks.insert([element], at: block + 1)
      return true
    }
    blocks[block].insert(element, at: index)
    if blocks[block].count > Self.blockLimit { divide(block) }
    return true
  }

  /// False: it was not there.
  @discardableResult
  mutating func remove(_ element: Element) -> Bool {
    guard let (block, index) = place(of: element) else { return false }
    blocks[block].remove(at: index)
    if blocks[block].isEmpty { blocks.remove(at: block) }
    count -= 1
    return true
  }

  /// Takes out the first ones, as many as stand together; none when it is empty.
  mutating func popFirstBlock() -> [Element] {
    guard !blocks.isEmpty else { return [] }
    let first = blocks.removeFirst()
    count -= first.count
    return first
  }

  /// The last block that does not begin behind an element, or the first one.
  private func block(for element: Element) -> Int {
    max(0, Self.index(where: { element < blocks[$0][0] }, blocks.count) - 1)
  }

  /// Where an element stands in a block, or would.
  private func index(of element: Element, in block: Int) -> Int {
    Self.index(where: { !(blocks[block][$0] < element) }, blocks[block].count)
  }

  private func place(of element: Element) -> (block: Int, index: Int)? {
    let block = block(for: element)
    guard block < blocks.count else { return nil }
    let index = index(of: element, in: block)
    guard index < blocks[block].count, !(element < blocks[block][index]) else { return nil }
    return (block, index)
  }

  /// The first of so many indices for which something is true that is true for all behind it; that number where it is for
  /// none.
  private static func index(where isTrue: (Int) -> Bool, _ count: Int) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isTrue(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  private mutating func divide(_ block: Int) {
    let half = blocks[block].count / 2
    let rest = Array(blocks[block][half...])
    blocks[block].removeSubrange(half...)
    blocks.insert(rest, at: block + 1)
  }
}
