/// What is found out about a long event or acknowledgement while its text is still coming: whether its JSON is well-formed,
/// and whether it is in the local form already.
struct LongPacket {
  /// Where the packet's array begins; nil where nothing is found out.
  private var array: Int?
  private var progress: JSONProgress
  private var looked: Int
  /// Nothing that came so far has to be written anew for local clients.
  private(set) var isLocalForm = true

  /// The array is a level around the arguments.
  private static let depth = SocketIOPacket.argumentsDepth + 1

  /// Where this is another packet, or the beginning of its array has not come, nothing is found out about it.
  init(_ text: RawSpan, from start: Int) {
    array = SocketIOPacket.array(text, from: start)
    looked = array ?? start
    progress = JSONProgress(from: looked, depth: Self.depth)
  }

  /// Takes what has come so far.
  mutating func advance(_ text: RawSpan, isWhole: Bool = false) {
    // Less than before is another text.
    if text.byteCount < looked { array = nil }
    guard array != nil else { return }
    progress.advance(text, isWhole: isWhole)
    if isLocalForm { isLocalForm = !LocalForm.mayNeedRewriting(text, looked..<text.byteCount) }
    looked = text.byteCount
  }

  /// The end of the array that begins there, if it is known to be well-formed to the end of the text.
  func end(_ text: RawSpan, array: Int) -> Int? {
    guard self.array == array, case .ended(let end) = progress.outcome else { return nil }
    var at = end
    JSONScanner.skipWhitespace(text, &at)
    return at == text.byteCount ? end : nil
  }
}
