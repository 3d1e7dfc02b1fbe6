/// Where members of one MessagePack map stand, found in one go or, a part at a time, while a long one comes. What is in
/// the values is stepped over.
struct MsgpackOutline {
  private enum Place: Equatable {
    case head, key, value
  }

  private let names: [StaticString]
  /// Where the value of each name begins: of equal ones the last. Nil for those that do not occur.
  private(set) var values: [Int?]
  private var place = Place.head
  private var at = 0
  /// Pairs that are still to come, this one included.
  private var pairs = 0
  /// Values that are still to come of the one that is stepped over.
  private var left = 0
  /// Which of the names the key is that was read last.
  private var name: Int?
  private var start = 0
  /// Nothing of the key or the value under way was read.
  private var isFirst = true
  private var isComplete = false

  /// Looks for members of these names.
  init(of names: [StaticString]) {
    self.names = names
    values = Array(repeating: nil, count: names.count)
  }

  /// Takes what has come so far, and with `isWhole` all of it: then it is a map and nothing behind it, or malformed.
  mutating func advance(_ bytes: RawSpan, isWhole: Bool) throws(MsgpackProblem) {
    while !isComplete {
      var next = at
      let item: MsgpackScanner.Item
      do throws(MsgpackProblem) { item = try MsgpackScanner.next(bytes, &next, isWhole: isWhole) } catch {
        guard !isWhole else { throw error }
        return
      }
      guard place == .head else {
        at = next
        take(item, bytes)
        continue
      }
      // Anything else is not passed over: a caller that asks again is to hear the same.
      guard case .map(let count) = item else { throw .malformed }
      at = next
      pairs = count
      begin(.key)
    }
    guard !isWhole || at == bytes.byteCount else { throw .malformed }
  }

  private mutating func take(_ item: MsgpackScanner.Item, _ bytes: RawSpan) {
    if place == .key, isFirst, case .string(let range) = item { name = index(of: bytes.extracting(range)) }
    isFirst = false
    left &-= 1
    switch item {
    case .array(let count): left += count
    case .map(let count): left += 2 * count
    case .null, .bool, .integer, .unsigned, .float, .string, .binary, .extended: break
    }
    if left == 0 { end() }
  }

  /// The key or the value is complete.
  private mutating func end() {
    guard place == .value else { return begin(.value) }
    if let name { values[name] = start }
    pairs -= 1
    begin(.key)
  }

  private mutating func begin(_ next: Place) {
    if next == .key { name = nil }
    (place, left, start, isFirst) = (next, 1, at, true)
    isComplete = next == .key && pairs == 0
  }

  private func index(of key: RawSpan) -> Int? {
    names.firstIndex { $0.utf8CodeUnitCount == key.byteCount && JSONScanner.bytesEqual(key, 0, $0) }
  }
}
