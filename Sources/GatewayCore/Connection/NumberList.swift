/// Growing numbers in their order. The number of something that is gone may stay until it surfaces or until the gone ones
/// are the majority: whoever owns the list says which those are.
struct NumberList: Sendable {
  private var numbers: ContiguousArray<UInt64> = []
  /// Where the first number that is still listed stands.
  private var head = 0

  var first: UInt64? { head < numbers.count ? numbers[head] : nil }

  /// All of them; cheap as long as the list does not change meanwhile.
  var all: ContiguousArray<UInt64>.SubSequence { numbers[head...] }

  /// Those from a number on.
  func all(from number: UInt64) -> ContiguousArray<UInt64>.SubSequence { numbers[index(of: number)...] }

  /// Where a number stands, or would.
  private func index(of number: UInt64) -> Int {
    var low = head
    var high = numbers.count
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Adds a number at its place, unless it is still listed.
  mutating func insert(_ number: UInt64) {
    if let last = numbers.last, last < number { return numbers.append(number) }
    let low = index(of: number)
    if low < numbers.count, numbers[low] == number { return }
    if low == head, head > 0 {
      head -= 1
      numbers[head] = number
    } else {
      numbers.insert(number, at: low)
    }
  }

  /// Drops the gone numbers at the beginning, and all of them where they are the majority of a long list; `alive` says how
  /// many are not gone.
  mutating func tidy(alive: Int, isGone: (UInt64) -> Bool) {
    while head < numbers.count, isGone(numbers[head]) { head += 1 }
    guard numbers.count > 64, alive < numbers.count / 2 else { return }
    numbers.removeAll(where: isGone)
    head = 0
  }
}
