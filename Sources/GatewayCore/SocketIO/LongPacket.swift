/// What is found out about a long event or acknowledgement while its text is still coming: whether its JSON is well-formed,
/// and whether it is in the local form already.
struct LongPacket {
  /// Where the packet's array begins.
  private let array: Int
  private var progress: JSONProgress
  private var looked: Int
  /// Nothing that came so far has to be written anew for local clients.
  private(set) var isLocalForm = true

  /// The array is a level around the arguments.
  private static let depth = SocketIOPacket.argumentsDepth + 1

  /// Nil where this is another packet, or the beginning of its array has not come.
  init?(_ text: RawSpan, from start: Int) {
    guard let array = SocketIOPacket.array(text, from: start) else { return nil }
    self.array = array
    looked = array
    progress = JSONProgress(from: array, depth: Self.depth)
  }

  /// Takes what has come so far.
  mutating func advance(_ text: RawSpan, isWhole: Bool = false) {
    progress.advance(text, isWhole: isWhole)
    if isLocalForm { isLocalForm = !LocalForm.mayNeedRewriting(text, looked..<text.byteCount) }
    looked = text.byteCount
  }

  /// The end of the array that begins there, if it is known to be well-formed to the end of the text.
  func end(_ text: RawSpan, array: Int) -> Int? {
    guard array == self.array, case .ended(let end) = progress.outcome else { return nil }
    var at = end
    JSONScanner.skipWhitespace(text, &at)
    return at == text.byteCount ? end : nil
  }
}
