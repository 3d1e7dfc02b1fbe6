/// One long JSON value that is looked at while it comes, a part at a time, so that other clients do not wait for the
/// whole of it: whether it is well-formed, and where its elements stand. `JSONScanner` says the same of a text that is
/// there, in one go, but for `NonNumbers`: those in a very long text do not hide where its elements stand. Decisions
/// 0076 and 0099.
struct LongText {
  private var progress: JSONProgress
  /// How much of the text was looked at.
  private(set) var looked: Int
  /// It got shorter, so that it is another text than that which was looked at.
  private(set) var isAnother = false

  /// From this length on, in bytes, what is about a conversation and no payload of it is not read.
  static let wordLimit = 64 << 10

  /// The value begins at `start`, white space before it not counted. `depth` is the number of levels that it may have,
  /// `elements` how many of its elements are remembered. `takesDeeper`: a value with more levels has an outline too.
  init(from start: Int, depth: Int = JSONScanner.depthLimit, elements: Int, takesDeeper: Bool = false) {
    progress = JSONProgress(
      from: start, depth: depth, elements: elements, nonNumbers: true, takesDeeper: takesDeeper)
    looked = start
  }

  /// Takes what has come so far, and with `isWhole` all of it.
  mutating func advance(_ text: RawSpan, isWhole: Bool = false) {
    if text.byteCount < looked { isAnother = true }
    guard !isAnother else { return }
    progress.advance(text, isWhole: isWhole)
    looked = text.byteCount
    guard case .ended(var end) = progress.outcome else { return }
    // Nothing but white space may stand behind it, and that may be much.
    end = max(end, blankEnd)
    JSONScanner.skipWhitespace(text, &end)
    blankEnd = end
  }

  /// Up to where white space follows the value.
  private var blankEnd = 0

  /// Whether an element is complete.
  var hasElements: Bool { progress.elementCount > 0 }

  /// What stands in a whole text that was looked at to its end. A text with `NonNumbers` is malformed as long as they
  /// could be replaced.
  func outline(_ text: RawSpan) throws(JSONError) -> Outline {
    switch progress.outcome {
    case .ended(let end):
      guard blankEnd == text.byteCount else { throw .syntax(at: blankEnd) }
      guard !progress.hasNonNumbers || text.byteCount > NonNumbers.limit else { throw .syntax(at: progress.valueStart) }
      return Outline(
        range: progress.valueStart..<end, elements: progress.elements, count: progress.elementCount,
        elementsEnd: progress.elementsEnd, hasNonNumbers: progress.hasNonNumbers, isTooDeep: progress.isTooDeep)
    case .broken(let error): throw error
    case nil: throw .syntax(at: text.byteCount)
    }
  }

  /// Where the parts of a well-formed value stand.
  struct Outline: Equatable {
    /// The whole value.
    var range: Range<Int>
    /// The first elements.
    var elements: [JSONProgress.Element]
    /// How many there are in all.
    var count: Int
    /// Behind the last of them.
    var elementsEnd: Int
    /// It holds `NonNumbers`: where its parts stand is right, but it is no JSON and must not be handed on.
    var hasNonNumbers = false
    /// It is nested more deeply than it may be, and must not be handed on.
    var isTooDeep = false
  }
}
