/// A queue in memory that is used again: what goes makes room for what comes. However long it is, neither adding nor
/// taking ever moves more than one block of it, so that a queue of a million holds up nothing.
struct Ring<Element> {
  /// Places that were made together; those without an element are nil.
  private typealias Block = ContiguousArray<Element?>

  /// Of a short ring: as many as a power of two, `blockSize` at most. A long one has none here.
  private var places: Block = []
  /// Of a long ring: as many as a power of two. One that is empty has no memory. None in a short one.
  private var blocks: ContiguousArray<Block> = []
  private var head = 0
  private(set) var count = 0
  /// Of a long ring: the block that was emptied last, for the next one that is needed.
  private var spare: Block = []

  private static var shift: Int { 12 }
  /// Most places of a short ring, and those of a block.
  static var blockSize: Int { 1 << shift }
  /// Places that an empty ring keeps.
  private static var keptPlaces: Int { 64 }
  /// One place of so many is taken when the ring becomes smaller.
  private static var sparseness: Int { 8 }

  /// Places with memory or without.
  var placeCount: Int { isShort ? places.count : blocks.count << Self.shift }

  var isEmpty: Bool { count == 0 }

  var first: Element? {
    guard count > 0 else { return nil }
    return isShort ? places[head] : blocks[head >> Self.shift][head & Self.mask]
  }

  /// The element so far behind the first one; nil beyond the last one.
  subscript(_ offset: Int) -> Element? {
    guard offset >= 0, offset < count else { return nil }
    return isShort ? places[place(offset)] : self[inBlocks: longPlace(offset)]
  }

  /// Looks at the element so far behind the first one where it stands, without a copy of it; nil beyond the last one.
  @inline(__always)
  func look<Result>(_ offset: Int, _ look: (Element) -> Result) -> Result? {
    guard offset >= 0, offset < count else { return nil }
    if isShort { return places[place(offset)].map(look) }
    let place = longPlace(offset)
    return blocks[place >> Self.shift][place & Self.mask].map(look)
  }

  @inline(__always)
  mutating func append(_ element: consuming Element) {
    guard isShort, count < places.count else { return appendMakingRoom(element) }
    places[place(count)] = element
    count &+= 1
  }

  /// Puts one in front of the others.
  mutating func prepend(_ element: consuming Element) {
    if isShort, count == places.count { makeRoom() }
    if isShort {
      head = place(-1)
      places[head] = element
    } else {
      if count == placeCount { addBlocks() }
      head = longPlace(-1)
      put(element, at: head)
    }
    count &+= 1
  }

  @inline(__always)
  mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    guard isShort else { return popFirstOfBlocks() }
    let element = places[head].take()
    head = place(1)
    count &-= 1
    giveBackPlaces()
    return element
  }

  mutating func popLast() -> Element? {
    guard count > 0 else { return nil }
    count &-= 1
    guard isShort else { return popLastOfBlocks() }
    let element = places[place(count)].take()
    giveBackPlaces()
    return element
  }

  /// Changes the element so far behind the first one, in its place; nil beyond the last one.
  @discardableResult
  mutating func update<Result>(_ offset: Int, _ change: (inout Element) -> Result) -> Result? {
    guard offset >= 0, offset < count else { return nil }
    guard isShort else {
      let place = longPlace(offset)
      return change(&blocks[place >> Self.shift][place & Self.mask]!)
    }
    return change(&places[place(offset)]!)
  }

  /// All of them, in one go.
  consuming func drained() -> [Element] {
    var all: [Element] = []
    all.reserveCapacity(count)
    while let next = popFirst() { all.append(next) }
    return all
  }

  // MARK: - A short ring

  private var isShort: Bool { blocks.isEmpty }

  @inline(__always)
  private func place(_ offset: Int) -> Int { (head &+ offset) & (places.count &- 1) }

  /// Appends to a short ring that is full, or to a long one.
  @inline(never)
  private mutating func appendMakingRoom(_ element: consuming Element) {
    if isShort { makeRoom() }
    if isShort {
      places[place(count)] = element
    } else {
      if count == placeCount { addBlocks() }
      put(element, at: longPlace(count))
    }
    count &+= 1
  }

  /// A short ring is full: it grows, or becomes a long one.
  @inline(never)
  private mutating func makeRoom() {
    guard places.count == Self.blockSize else { return move(to: max(8, places.count * 2)) }
    blocks = [places]
    places = []
  }

  @inline(__always)
  private mutating func giveBackPlaces() {
    guard places.count > Self.keptPlaces, count <= places.count / Self.sparseness else { return }
    move(to: max(Self.keptPlaces, places.count / 4))
  }

  /// Into a short ring of so many places: a power of two, and not fewer than are taken.
  @inline(never)
  private mutating func move(to size: Int) {
    var block: Block = []
    block.reserveCapacity(size)
    for offset in 0..<count {
      block.append(isShort ? places[place(offset)].take() : takeLong(longPlace(offset)))
    }
    block.append(contentsOf: repeatElement(nil, count: size - count))
    (places, blocks, head, spare) = (block, [], 0, [])
  }

  // MARK: - A long ring

  private static var mask: Int { blockSize - 1 }

  private func longPlace(_ offset: Int) -> Int { (head &+ offset) & (blocks.count << Self.shift &- 1) }

  private subscript(inBlocks place: Int) -> Element? { blocks[place >> Self.shift][place & Self.mask] }

  private mutating func takeLong(_ place: Int) -> Element? { blocks[place >> Self.shift][place & Self.mask].take() }

  private mutating func put(_ element: consuming Element, at place: Int) {
    if blocks[place >> Self.shift].isEmpty { blocks[place >> Self.shift] = makeBlock() }
    blocks[place >> Self.shift][place & Self.mask] = element
  }

  private mutating func makeBlock() -> Block {
    guard spare.isEmpty else {
      defer { spare = [] }
      return spare
    }
    return Block(repeating: nil, count: Self.blockSize)
  }

  @inline(never)
  private mutating func popFirstOfBlocks() -> Element? {
    let left = head >> Self.shift
    let element = takeLong(head)
    head = longPlace(1)
    count &-= 1
    if head & Self.mask == 0, count <= placeCount &- Self.blockSize {
      // Nothing is left in the block.
      spare = []
      swap(&spare, &blocks[left])
    }
    if count <= placeCount / Self.sparseness { removeBlocks() }
    return element
  }

  private mutating func popLastOfBlocks() -> Element? {
    let end = longPlace(count)
    let element = takeLong(end)
    // In the block of the first one, others stand behind the end.
    if end & Self.mask == 0, end >> Self.shift != head >> Self.shift {
      spare = []
      swap(&spare, &blocks[end >> Self.shift])
    }
    if count <= placeCount / Self.sparseness { removeBlocks() }
    return element
  }

  /// Twice as many.
  private mutating func addBlocks() {
    // What stands in front of the first one, in its block, comes last: it moves into a block behind the others.
    let first = head >> Self.shift
    var more = ContiguousArray(blocks[first...] + blocks[..<first])
    let end = more.count
    more.append(contentsOf: repeatElement([], count: end))
    head &= Self.mask
    if head > 0 { more[end] = makeBlock() }
    for place in 0..<head { more[end][place] = more[0][place].take() }
    blocks = more
  }

  private mutating func removeBlocks() {
    guard blocks.count > 2 else { return move(to: Self.blockSize / 2) }
    // An eighth of the places stands in a quarter of the blocks and one, and these are as many as a power of two.
    let first = head >> Self.shift
    let kept = max(2, blocks.count / 4)
    blocks = ContiguousArray((0..<kept).map { blocks[(first + $0) & (blocks.count - 1)] })
    head &= Self.mask
  }
}
