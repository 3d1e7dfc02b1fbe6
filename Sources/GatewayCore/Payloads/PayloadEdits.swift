/// Changes to a text that are collected in any order and applied in one pass.
struct PayloadEdits {
  private enum Change {
    case insertDollar
    case remove
    /// What stands instead, by its number.
    case replace(UInt32)
  }

  /// Small, because a message of a megabyte may need a hundred thousand.
  private struct Edit {
    let start: UInt32
    let count: UInt32
    let change: Change

    var range: Range<Int> { Int(start)..<Int(start) + Int(count) }
  }

  private var edits: [Edit] = []

  private var isSorted = true

  mutating func insertDollar(at offset: Int) { add(offset..<offset, .insertDollar) }
  mutating func remove(_ range: Range<Int>) { add(range, .remove) }
  /// Changes within a replaced range are dropped.
  mutating func replace(_ range: Range<Int>, number: Int) { add(range, .replace(UInt32(number))) }

  private mutating func add(_ range: Range<Int>, _ change: Change) {
    let edit = Edit(start: UInt32(range.lowerBound), count: UInt32(range.count), change: change)
    if let last = edits.last, last.start > edit.start { isSorted = false }
    edits.append(edit)
  }

  /// Appends the changed text of `range`; `replacement` writes what stands for a number.
  consuming func apply(
    to text: RawSpan, _ range: Range<Int>, into output: inout [UInt8], _ replacement: (Int, inout [UInt8]) -> Void
  ) {
    // Those of objects within objects come first; mostly there are none.
    if !isSorted {
      edits.sort { $0.start < $1.start }
    }
    var at = range.lowerBound
    for edit in edits where Int(edit.start) >= at {
      let range = edit.range
      output.append(text.extracting(at..<range.lowerBound))
      at = range.upperBound
      switch edit.change {
      case .insertDollar: output.append(UInt8(ascii: "$"))
      case .remove: break
      case .replace(let number): replacement(Int(number), &output)
      }
    }
    output.append(text.extracting(at..<range.upperBound))
  }
}
