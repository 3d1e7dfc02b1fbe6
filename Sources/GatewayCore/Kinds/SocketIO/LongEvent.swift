/// What is kept of an event or an acknowledgement that is longer than a line of a local client, so that no program will
/// see it: enough to tell whom it concerns, and what the server wants to have remembered of it.
struct LongEvent: Equatable, Sendable {
  /// The raw JSON text of the name, or the beginning of one that is too long for a name as well; empty for an
  /// acknowledgement.
  var name: [UInt8]
  /// The end of the arguments, where a server puts its offset; nil where it was not read.
  var ending: [UInt8]?
  /// Bytes of the whole.
  var size: Int
  var ack: UInt64?

  /// Longest part of a name that is kept, in bytes: more than is needed to see that it is none.
  fileprivate static let nameLimit = 8 * EventName.limit
  /// How much of the arguments' end is kept, in bytes: several of the longest offsets.
  fileprivate static let endingLimit = 256

  /// `size` is that of the whole, with attachments as they would be written.
  init(_ text: RawSpan, name: Range<Int>, arguments: Range<Int>? = nil, size: Int, ack: UInt64?) {
    self.name = text.extracting(name.prefix(Self.nameLimit)).withUnsafeBytes { Array($0) }
    ending = arguments.map { text.extracting($0.suffix(Self.endingLimit)).withUnsafeBytes { Array($0) } }
    self.size = size
    self.ack = ack
  }
}

/// What is kept of an event that cannot be shown because something is wrong with it.
struct FlawedEvent: Equatable, Sendable {
  var flaw: SocketIOFlaw
  /// The raw JSON text of the name; nil where there is none.
  var name: [UInt8]?
  /// The end of the arguments, where a server puts its offset; nil where there are none to read.
  var ending: [UInt8]?
  var ack: UInt64?

  /// One of which nothing could be read but the acknowledgement id.
  init(_ flaw: SocketIOFlaw, ack: UInt64?) {
    self.flaw = flaw
    self.ack = ack
  }

  init(_ flaw: SocketIOFlaw, _ text: RawSpan, name: Range<Int>, arguments: Range<Int>, ack: UInt64?) {
    self.init(flaw, ack: ack)
    self.name = text.extracting(name.prefix(LongEvent.nameLimit)).withUnsafeBytes { Array($0) }
    ending = text.extracting(arguments.suffix(LongEvent.endingLimit)).withUnsafeBytes { Array($0) }
  }

  /// As the connection is told of it.
  var dropped: DroppedEvent { DroppedEvent(flaw.reason, detail: flaw.detail, name: name, ack: ack) }
}

extension SocketIOPacket {
  /// Bytes of its name and arguments.
  var payloadCount: Int {
    switch content {
    case .event(let name, let arguments): name.count + arguments.count
    case .acknowledgement(let arguments): arguments.count
    case .connect, .malformedConnect, .oversizedConnect, .disconnect, .connectError, .unreadable: 0
    }
  }

  /// What is left of it, if it is longer than a line of so many bytes, or too long to be mended.
  @inline(__always)
  func longEvent(_ text: RawSpan, over lineLimit: @autoclosure () -> Int) -> LongEvent? {
    guard text.byteCount > Limits.leastLine, hasNonNumbers || payloadCount > lineLimit() else { return nil }
    return longEvent(text, size: payloadCount)
  }

  /// What is left of an event or an acknowledgement that is longer than a line; `size` is what it would take.
  func longEvent(_ text: RawSpan, size: Int) -> LongEvent? {
    switch content {
    case .event(let name, let arguments): LongEvent(text, name: name, arguments: arguments, size: size, ack: ack)
    case .acknowledgement(let arguments):
      LongEvent(text, name: arguments.prefix(0), arguments: arguments, size: size, ack: ack)
    case .connect, .malformedConnect, .oversizedConnect, .disconnect, .connectError, .unreadable: nil
    }
  }
}
