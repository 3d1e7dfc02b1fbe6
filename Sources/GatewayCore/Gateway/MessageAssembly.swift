/// The text of one message's arguments while it comes in parts: gathered in the memory that the call will carry, and
/// checked as it comes, so that hardly anything is left to be done with the last part.
final class MessageAssembly {
  let id: RequestID
  let total: Int
  /// The levels of the line that the arguments would stand in are not theirs.
  private var text = GatheredText(JSONProgress(from: 0, depth: JSONScanner.depthLimit - 2))

  /// What became of the parts.
  struct Message: Equatable {
    /// A JSON array.
    var args: [UInt8]
    var isPlain: Bool
  }

  /// Why a part is not taken. Nothing more is heard of the message then.
  enum Problem: Error, Equatable {
    /// It does not begin where the one before ended.
    case outOfOrder(expected: Int)
    /// It says another length than the first.
    case otherLength(Int)
    case noArray
    /// With binary values, or strings that look as if they were some, it may have `binaryLimit` bytes.
    case binaryTooLong(Int)
    /// At a byte of the whole text.
    case malformed(JSONError)
  }

  /// Most bytes of a text with binary values: these are taken out of it in one go.
  static let binaryLimit = 2 << 20

  /// To be followed by `append` of the same part.
  init(first part: MessagePart) {
    id = part.id
    total = part.total
    // Room that is not used costs nothing, and growing would mean to copy.
    text.reserve(total)
  }

  /// How many bytes there are with one part more.
  func count(with part: MessagePart) -> Int { text.count + part.data.count }

  /// Takes the next part. Returns the message when it is complete.
  func append(_ part: MessagePart) throws(Problem) -> Message? {
    guard part.total == total else { throw .otherLength(total) }
    guard part.place == text.count else { throw .outOfOrder(expected: text.count) }
    text.append(part.data.span.bytes, limit: total)
    if part.isLast { text.end() }
    try check(isWhole: part.isLast)
    guard part.isLast else { return nil }
    let (args, isPlain) = text.take()
    guard isPlain || args.count <= Self.binaryLimit else { throw .binaryTooLong(args.count) }
    return Message(args: args, isPlain: isPlain)
  }

  private func check(isWhole: Bool) throws(Problem) {
    guard text.bytes[0] == UInt8(ascii: "[") else { throw .noArray }
    switch text.outcome {
    case .broken(let error): throw .malformed(error)
    case .ended(let end):
      guard isWhole, end == text.count else { throw .malformed(.syntax(at: end)) }
    case nil: break
    }
  }
}
