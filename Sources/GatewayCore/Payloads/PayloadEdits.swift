/// Changes to a text that are collected in any order and applied in one pass.
struct PayloadEdits {
  /// A text that comes in.
  enum Insertion: UInt32 {
    case nothing, dollar
    /// Around base64 in the local form.
    case binaryBegins, binaryEnds
    /// Around base64 in WAMP's form.
    case zeroBegins, zeroEnds

    @inline(__always)
    var text: StaticString {
      switch self {
      case .nothing: ""
      case .dollar: "$"
      case .binaryBegins: #"{"$bin":""#
      case .binaryEnds: #""}"#
      case .zeroBegins: #""\u0000"#
      case .zeroEnds: "\""
      }
    }
  }

  /// In twelve bytes, because a message of a megabyte may need two hundred thousand.
  private struct Edit {
    let start: UInt32
    /// How many bytes go.
    let count: UInt32
    /// Which insertion takes their place, or, with the highest bit, the number of a replacement.
    let change: UInt32

    static let replacement: UInt32 = 1 << 31

    var isReplacement: Bool { change >= Self.replacement }
    @inline(__always)
    var text: StaticString { (Insertion(rawValue: change) ?? .nothing).text }
  }

  private var edits: [Edit] = []
  private var isSorted = true
  /// As many as the text may need: the shortest binary value needs two.
  private let limit: Int
  /// With more than so many there is room for `limit` at once. Memory that is not written to costs nothing, and a list
  /// that grows by doubling writes to twice as much.
  private static let few = 1_024

  /// Of a text's part.
  init(in range: Range<Int>) { limit = 2 * range.count / #""\u0000","#.utf8.count + 2 }

  mutating func insertDollar(at offset: Int) { replace(offset..<offset, by: .dollar) }

  mutating func remove(_ range: Range<Int>) { replace(range, by: .nothing) }

  mutating func replace(_ range: Range<Int>, by insertion: Insertion) { add(range, insertion.rawValue) }

  /// Changes within a replaced range are dropped.
  mutating func replace(_ range: Range<Int>, number: Int) { add(range, Edit.replacement | UInt32(number)) }

  private mutating func add(_ range: Range<Int>, _ change: UInt32) {
    let edit = Edit(start: UInt32(range.lowerBound), count: UInt32(range.count), change: change)
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
        at = Int(edit.start) + Int(edit.count)
        replacement(Int(edit.change ^ Edit.replacement), &output)
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
    var room = max(0, Int(last.start) - at)
    for edit in edits { room += edit.text.utf8CodeUnitCount }
    output.append(room: room) { writer in
      for edit in edits where Int(edit.start) >= at {
        writer.put(text.extracting(at..<Int(edit.start)))
        writer.put(edit.text)
        at = Int(edit.start) + Int(edit.count)
      }
    }
  }
}
