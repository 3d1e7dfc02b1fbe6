/// What is found out about a long event, acknowledgement or refusal while its text is still coming: whether its JSON is
/// well-formed, where its parts stand, and whether it is in the local form already.
struct LongPacket {
  private let start: Int
  /// Where the packet's array begins; nil where nothing is found out.
  private var array: Int?
  private var content: LongText
  /// Nothing that came so far has to be written anew for local clients.
  private(set) var isLocalForm = true

  /// The array is a level around the arguments.
  private static let depth = LineDepth.argumentLimit + 1
  /// The name, and where the first argument begins; or a server's words, among which others may stand.
  private static let elements = 16

  /// Where this is another packet nothing is found out about it.
  init(_ text: RawSpan, from start: Int) {
    self.start = start
    array = SocketIOPacket.payload(text, from: start)
    content = LongText(from: array ?? start, depth: Self.depth, elements: Self.elements)
  }

  /// Takes what has come so far. What is longer than `lineLimit` is written for no client, so that its form does not
  /// matter.
  mutating func advance(_ text: RawSpan, isWhole: Bool = false, lineLimit: Int = .max) {
    // The beginning of its array may come later.
    if array == nil, !content.isAnother, text.byteCount <= SocketIOPacket.headLimit {
      self = LongPacket(text, from: start)
    }
    guard array != nil else { return }
    let start = content.looked
    content.advance(text, isWhole: isWhole)
    if content.isAnother { array = nil }
    guard array != nil, isLocalForm else { return }
    isLocalForm = text.byteCount <= lineLimit && !LocalForm.mayNeedRewriting(text, start..<text.byteCount)
  }

  /// Whether the first element is complete.
  var hasName: Bool { content.hasElements }

  /// What is known of the array that begins there; nil where it was not looked at. Throws what is wrong with it.
  func outline(_ text: RawSpan, array: Int) throws(JSONError) -> LongText.Outline? {
    self.array == array ? try content.outline(text) : nil
  }
}
