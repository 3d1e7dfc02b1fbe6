/// What is found out about a long event while its text is still coming: whether its JSON is well-formed, and whether it is in
/// the local form already.
struct LongEvent {
  /// The packet and its array begin there.
  private let start: Int
  private let array: Int
  private var progress: JSONProgress
  private var looked: Int
  /// Nothing that came so far has to be written anew for local clients.
  private(set) var isLocalForm = true

  /// The array of an event, name and arguments, has a level less around its arguments than they are allowed.
  private static let depth = SocketIOPacket.argumentsDepth + 1

  /// Nil where this is no event, or the beginning of its array has not come.
  init?(_ text: RawSpan, from start: Int) {
    guard let array = SocketIOPacket.arrayOfEvent(text, from: start) else { return nil }
    self.start = start
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

  /// The end of the array of the event at `start`, if it is known to be well-formed to the end of the text.
  func end(_ text: RawSpan, array: Int) -> Int? {
    guard array == self.array, case .ended(let end) = progress.outcome else { return nil }
    var at = end
    JSONScanner.skipWhitespace(text, &at)
    return at == text.byteCount ? end : nil
  }
}
