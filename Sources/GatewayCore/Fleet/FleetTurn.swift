/// What is dealt with in one turn of the loop: so many calls and bytes at most. A longer call has a turn of its own.
struct FleetTurn {
  static let limit = (count: 1_000, bytes: 1 << 20)

  private var count = 0
  private var bytes = 0

  /// Whether it has time for a call of so many bytes, which counts then.
  mutating func takes(_ size: Int) -> Bool {
    guard count == 0 || count < Self.limit.count && bytes + size <= Self.limit.bytes else { return false }
    count += 1
    bytes += size
    return true
  }
}
