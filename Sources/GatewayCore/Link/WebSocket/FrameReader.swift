/// Takes apart the frames that a server sends and puts its messages together (RFC 6455 sections 5.2 to 5.5): bytes in,
/// messages and control frames out. What lies whole within the bytes at hand is handed over where it lies; anything
/// else is gathered in memory of just its size, which goes as soon as it was handed over. Decision 0066.
public final class FrameReader {
  /// What comes out, each with its payload.
  public enum Item: Equatable, Sendable {
    /// A whole message. A compressed one still has to be inflated.
    case message(MessageKind, isCompressed: Bool)
    /// What has come so far of a long message that is not compressed, for whoever wants to look at it early.
    case part(MessageKind)
    case ping
    case pong
    case close
  }

  /// Why no further byte can be read.
  public enum Problem: Error, Equatable, Sendable {
    /// A frame against the rules.
    case violation
    /// A message beyond the limit.
    case tooLarge
    /// A message for whose beginning there is no memory.
    case noMemory
  }

  /// The message that its first frame began.
  private struct Message {
    let kind: MessageKind
    let isCompressed: Bool
    /// Sum of the announced lengths of its frames.
    var length = 0
  }

  /// From this length on, in bytes, a message is long.
  public static let longMessage = 64 << 10
  /// How much of it has to be new, in bytes, for it to be shown again, however small its frames are.
  static let partStep = 16 << 10

  private let messageLimit: Int
  private let allowsCompression: Bool
  /// The link has no receiver any more: messages are read over.
  public var ignoresMessages = false

  /// The beginning of a head whose rest has not come yet.
  private var cutHead: [UInt8] = []
  /// The frame whose payload is under way, and how much of it is still to come.
  private var frame: IncomingFrameHead?
  private var left = 0
  private var message: Message?
  /// Pieces of a message, and of a control frame, which may come between them.
  private var gathered = GatheredBytes()
  /// What they count of the memory for such; nil where nothing is counted.
  private let memory: MemoryHold?
  /// Messages that have begun.
  private var messageCount = 0
  /// How much of the message was shown before it was complete.
  private var shown = 0
  private var gatheredControl = GatheredBytes()

  /// - Parameters:
  ///   - messageLimit: most bytes of a message, inflated or not.
  ///   - allowsCompression: compressed messages were agreed on (RFC 7692).
  ///   - memory: what pieces of messages count as; nil counts nothing.
  public init(messageLimit: Int, allowsCompression: Bool, memory: MemoryHold? = nil) {
    self.memory = memory
    self.messageLimit = messageLimit
    self.allowsCompression = allowsCompression
  }

  /// The message that has begun and not ended, by a number that another one does not have; nil when there is none.
  public var unfinishedMessage: Int? { message == nil ? nil : messageCount }

  /// Takes bytes from the server. `body` is given each item with its payload, which is valid during the call, and says
  /// whether it wants the next one now. Returns how many bytes were not taken because it did not; they come first when
  /// this is called again. After a problem it must not be called any more.
  @discardableResult
  public func receive(
    _ bytes: UnsafeRawBufferPointer, _ body: (Item, UnsafeRawBufferPointer) -> Bool
  ) throws(Problem) -> Int {
    var rest = bytes
    while !rest.isEmpty {
      if frame == nil {
        guard let head = try nextHead(&rest) else { break }
        if isWholeMessage(head, rest) {
          let payload = UnsafeRawBufferPointer(rebasing: rest[..<head.length])
          rest = UnsafeRawBufferPointer(rebasing: rest[head.length...])
          guard body(.message(head.opcode == .text ? .text : .binary, isCompressed: false), payload) else { break }
          continue
        }
        try begin(head)
      }
      guard try takePiece(&rest, body) else { break }
    }
    return rest.count
  }

  // MARK: - Heads

  /// Takes a head off the bytes; nil where its rest has still to come.
  @inline(__always)
  private func nextHead(_ rest: inout UnsafeRawBufferPointer) throws(Problem) -> IncomingFrameHead? {
    guard cutHead.isEmpty, let head = try IncomingFrameHead(parsing: rest) else { return try completeHead(&rest) }
    rest = UnsafeRawBufferPointer(rebasing: rest[head.byteCount...])
    return head
  }

  private func completeHead(_ rest: inout UnsafeRawBufferPointer) throws(Problem) -> IncomingFrameHead? {
    let kept = cutHead.count
    cutHead += rest.prefix(IncomingFrameHead.longest - kept)
    // Closures do not carry the type of an error.
    let parsed = cutHead.withUnsafeBytes { bytes in
      Result { () throws(Problem) in try IncomingFrameHead(parsing: bytes) }
    }
    guard let head = try parsed.get() else {
      rest = UnsafeRawBufferPointer(rebasing: rest.suffix(0))
      return nil
    }
    cutHead.removeAll(keepingCapacity: true)
    rest = UnsafeRawBufferPointer(rebasing: rest[(head.byteCount - kept)...])
    return head
  }

  /// Whether a frame is a message by itself, and all of it there: what nearly all are. Nothing has to be remembered of
  /// it.
  @inline(__always)
  private func isWholeMessage(_ head: IncomingFrameHead, _ rest: UnsafeRawBufferPointer) -> Bool {
    head.isFinal && !head.isMarked && (head.opcode == .text || head.opcode == .binary)
      && head.length <= min(rest.count, messageLimit) && message == nil && !ignoresMessages
  }

  /// Checks what a frame may be at this place.
  @inline(never)
  private func begin(_ head: IncomingFrameHead) throws(Problem) {
    switch head.opcode {
    case .close, .ping, .pong: guard !head.isMarked else { throw .violation }
    case .continuation:
      guard !head.isMarked, message != nil else { throw .violation }
      try extendMessage(head.length)
    case .text, .binary:
      guard message == nil, !head.isMarked || allowsCompression else { throw .violation }
      // RFC 7692 section 6: the bit marks the first frame of a compressed message and nothing else.
      messageCount &+= 1
      message = Message(kind: head.opcode == .text ? .text : .binary, isCompressed: head.isMarked)
      try extendMessage(head.length)
    }
    frame = head
    left = head.length
  }

  @inline(__always)
  private func extendMessage(_ length: Int) throws(Problem) {
    guard var message else { return }
    // What cannot be compressed becomes a little larger by trying.
    let limit = message.isCompressed ? messageLimit &+ messageLimit &>> 10 &+ 64 : messageLimit
    guard length <= limit &- message.length else { throw .tooLarge }
    message.length &+= length
    self.message = message
  }

  // MARK: - Payloads

  /// Takes what there is of the payload that is under way. Whether anything may follow.
  @inline(never)
  private func takePiece(
    _ rest: inout UnsafeRawBufferPointer, _ body: (Item, UnsafeRawBufferPointer) -> Bool
  ) throws(Problem) -> Bool {
    guard let frame else { return false }
    let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(left))
    rest = UnsafeRawBufferPointer(rebasing: rest[piece.count...])
    left &-= piece.count
    if left == 0 { self.frame = nil }
    return frame.opcode.isControl ? takeControl(frame, piece, body) : try takeData(frame, piece, body)
  }

  @inline(__always)
  private func takeData(
    _ frame: IncomingFrameHead, _ piece: UnsafeRawBufferPointer, _ body: (Item, UnsafeRawBufferPointer) -> Bool
  ) throws(Problem) -> Bool {
    guard let message else { return true }
    let isComplete = frame.isFinal && left == 0
    if isComplete { self.message = nil }
    guard !ignoresMessages else { return true }
    let item = Item.message(message.kind, isCompressed: message.isCompressed)
    if isComplete, piece.count == message.length { return body(item, piece) }
    if let memory, !memory.change(to: gathered.bytes.count + piece.count) { throw .noMemory }
    gathered.append(piece, expecting: message.length)
    guard isComplete else {
      guard message.length >= Self.longMessage, !message.isCompressed else { return true }
      let bytes = gathered.bytes
      guard bytes.count - shown >= Self.partStep else { return true }
      shown = bytes.count
      return body(.part(message.kind), bytes)
    }
    shown = 0
    defer {
      gathered.free()
      memory?.set(0)
    }
    return body(item, gathered.bytes)
  }

  private func takeControl(
    _ frame: IncomingFrameHead, _ piece: UnsafeRawBufferPointer, _ body: (Item, UnsafeRawBufferPointer) -> Bool
  ) -> Bool {
    let item: Item
    switch frame.opcode {
    case .ping: item = .ping
    case .pong: item = .pong
    case .close: item = .close
    case .continuation, .text, .binary: return true
    }
    if left == 0, piece.count == frame.length { return body(item, piece) }
    gatheredControl.append(piece, expecting: frame.length)
    guard left == 0 else { return true }
    defer { gatheredControl.free() }
    return body(item, gatheredControl.bytes)
  }
}

/// Bytes that come in pieces, in memory of just the size that they were announced with. Decision 0065.
struct GatheredBytes: ~Copyable {
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private var count = 0

  deinit { memory.deallocate() }

  /// What has come so far; valid until the next change.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

  /// Takes another piece. `expected` is how many bytes there will be in all, as far as that is known: where it grows,
  /// so does the memory. What nothing was written to yet takes no memory of the machine.
  mutating func append(_ piece: UnsafeRawBufferPointer, expecting expected: Int) {
    let needed = max(expected, count + piece.count)
    if memory.count < needed { grow(needed) }
    UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + piece.count]).copyMemory(from: piece)
    count += piece.count
  }

  /// Lets go of everything.
  mutating func free() {
    memory.deallocate()
    memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    count = 0
  }

  /// Many small frames must not be copied again for each of them.
  private mutating func grow(_ needed: Int) {
    let size = memory.isEmpty ? needed : max(needed, memory.count * 2)
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
    larger.copyMemory(from: bytes)
    memory.deallocate()
    memory = larger
  }
}
