/// The text of one message's arguments while it comes in parts: gathered in the memory that the call will carry, and
/// checked as it comes, so that hardly anything is left to be done with the last part.
final class MessageAssembly {
  let id: RequestID
  let total: Int
  private(set) var text: [UInt8] = []
  /// The levels of the line that the arguments would stand in are not theirs.
  private var progress = JSONProgress(from: 0, depth: JSONScanner.depthLimit - 2)
  /// No string in it begins like a `$…bin` key. Not known when false.
  private var isPlain = true

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
    /// At a byte of the whole text.
    case malformed(JSONError)
  }

  /// To be followed by `append` of the same part.
  init(first part: MessagePart) {
    id = part.id
    total = part.total
    // Room that is not used costs nothing, and growing would mean to copy.
    text.reserveCapacity(total)
  }

  /// How many bytes there are with one part more.
  func count(with part: MessagePart) -> Int { text.count + part.data.count }

  /// Takes the next part. Returns the message when it is complete.
  func append(_ part: MessagePart) throws(Problem) -> Message? {
    guard part.total == total else { throw .otherLength(total) }
    guard part.place == text.count else { throw .outOfOrder(expected: text.count) }
    text += part.data
    try check(from: part.place, isWhole: part.isLast)
    guard part.isLast else { return nil }
    return Message(args: text, isPlain: isPlain)
  }

  private func check(from looked: Int, isWhole: Bool) throws(Problem) {
    text.withUnsafeBytes { bytes in
      let text = bytes.bytes
      progress.advance(text, isWhole: isWhole)
      if isPlain { isPlain = !LocalForm.mayBeginMark(text, looked..<text.byteCount) }
    }
    guard text[0] == UInt8(ascii: "[") else { throw .noArray }
    switch progress.outcome {
    case .broken(let error): throw .malformed(error)
    case .ended(let end):
      guard isWhole, end == text.count else { throw .malformed(.syntax(at: end)) }
    case nil: break
    }
  }
}
