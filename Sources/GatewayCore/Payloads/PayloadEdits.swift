/// Changes to a text that are collected in any order and applied in one pass.
struct PayloadEdits {
  private enum Change {
    case insertDollar
    case remove
    /// What stands instead, by its number.
    case replace(Int)
  }

  private var edits: [(range: Range<Int>, change: Change)] = []

  private var isSorted = true

  mutating func insertDollar(at offset: Int) { add(offset..<offset, .insertDollar) }
  mutating func remove(_ range: Range<Int>) { add(range, .remove) }
  /// Changes within a replaced range are dropped.
  mutating func replace(_ range: Range<Int>, number: Int) { add(range, .replace(number)) }

  private mutating func add(_ range: Range<Int>, _ change: Change) {
    if let last = edits.last, last.range.lowerBound > range.lowerBound { isSorted = false }
    edits.append((range, change))
  }

  /// Appends the changed text of `range`; `replacement` writes what stands for a number.
  consuming func apply(
    to text: RawSpan, _ range: Range<Int>, into output: inout [UInt8], _ replacement: (Int, inout [UInt8]) -> Void
  ) {
    // Those of objects within objects come first; mostly there are none.
    if !isSorted {
      edits.sort { $0.range.lowerBound < $1.range.lowerBound }
    }
    var at = range.lowerBound
    for (range, change) in edits where range.lowerBound >= at {
      output.append(text.extracting(at..<range.lowerBound))
      at = range.upperBound
      switch change {
      case .insertDollar: output.append(UInt8(ascii: "$"))
      case .remove: break
      case .replace(let number): replacement(number, &output)
      }
    }
    output.append(text.extracting(at..<range.upperBound))
  }
}
