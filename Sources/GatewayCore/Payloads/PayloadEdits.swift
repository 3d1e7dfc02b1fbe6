/// Changes to a text that are collected in any order and applied in one pass.
struct PayloadEdits {
  /// In eight bytes, because a message of a megabyte may need a hundred thousand.
  private struct Edit {
    let start: UInt32
    /// 0 where a dollar comes in; with the highest bit how many bytes go; otherwise which replacement it is, from 1 on.
    let change: UInt32

    static let removal: UInt32 = 1 << 31

    var isReplacement: Bool { change != 0 && change < Self.removal }
  }

  /// What a longer text stands instead of: how many bytes, and its number.
  private typealias Replacement = (count: UInt32, number: UInt32)

  private var edits: [Edit] = []
  private var replacements: [Replacement] = []
  private var isSorted = true
  /// As many as the text may need: each stands for a key and its value.
  private let limit: Int
  /// With more than so many there is room for `limit` at once. Memory that is not written to costs nothing, and a list
  /// that grows by doubling writes to twice as much.
  private static let few = 1_024

  /// Of a text's part.
  init(in range: Range<Int>) { limit = range.count / #""$bin":0,"#.utf8.count + 1 }

  mutating func insertDollar(at offset: Int) { add(offset, 0) }

  mutating func remove(_ range: Range<Int>) { add(range.lowerBound, Edit.removal | UInt32(range.count)) }

  /// Changes within a replaced range are dropped.
  mutating func replace(_ range: Range<Int>, number: Int) {
    replacements.append((UInt32(range.count), UInt32(number)))
    add(range.lowerBound, UInt32(replacements.count))
  }

  private mutating func add(_ start: Int, _ change: UInt32) {
    let edit = Edit(start: UInt32(start), change: change)
    if let last = edits.last, last.start > edit.start { isSorted = false }
    if edits.count == Self.few { edits.reserveCapacity(max(limit, 2 * Self.few)) }
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
    var next = 0
    while next < edits.count {
      let edit = edits[next]
      guard !edit.isReplacement else {
        next += 1
        guard Int(edit.start) >= at else { continue }
        output.append(text.extracting(at..<Int(edit.start)))
        let (count, number) = replacements[Int(edit.change) - 1]
        at = Int(edit.start) + Int(count)
        replacement(Int(number), &output)
        continue
      }
      let end = edits[next...].firstIndex(where: \.isReplacement) ?? edits.count
      Self.write(edits[next..<end], of: text, &at, into: &output)
      next = end
    }
    output.append(text.extracting(at..<range.upperBound))
  }

  /// Writes the text up to the last of these changes, none of which is a replacement: whether there is room is asked
  /// once for all of them.
  private static func write(_ edits: ArraySlice<Edit>, of text: RawSpan, _ at: inout Int, into output: inout [UInt8]) {
    guard let last = edits.last else { return }
    let room = max(0, Int(last.start) - at) + edits.count
    output.append(room: room) { writer in
      for edit in edits where Int(edit.start) >= at {
        writer.put(text.extracting(at..<Int(edit.start)))
        at = Int(edit.start)
        if edit.change == 0 { writer.put("$") } else { at += Int(edit.change ^ Edit.removal) }
      }
    }
  }
}
