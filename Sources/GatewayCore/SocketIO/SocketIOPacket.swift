/// One Socket.IO packet as its text says, before its attachments. Ranges are offsets into that text; JSON in them is
/// validated. Socket.IO protocol, section "Packet encoding"; all servers alike.
struct SocketIOPacket: Equatable, Sendable {
  enum Content: Equatable, Sendable {
    /// The JSON object, if there is one.
    case connect(Range<Int>?)
    /// A CONNECT with anything else.
    case malformedConnect
    /// JSON text of any kind, which some servers add.
    case disconnect(Range<Int>?)
    /// `name` is a string with its quotes or a number; `arguments` what follows it, without brackets, maybe empty.
    case event(name: Range<Int>, arguments: Range<Int>)
    case acknowledgement(arguments: Range<Int>)
    /// JSON text of any kind; nil where the server gave no reason that can be read.
    case connectError(Range<Int>?)
    /// An event or acknowledgement that is well-formed and cannot be shown.
    case unreadable(GapReason)
  }

  /// The digit in front. Servers before 3.0 call `connectError` ERROR.
  enum Kind: UInt8, Sendable {
    case connect, disconnect, event, acknowledgement, connectError, binaryEvent, binaryAcknowledgement

    /// Whether attachments follow.
    var isBinary: Bool { self == .binaryEvent || self == .binaryAcknowledgement }
  }

  var kind: Kind
  var attachments = 0
  /// Empty for the main namespace `/`.
  var namespace = 0..<0
  var ack: UInt64?
  var content: Content
  /// The arguments are known to be in the local form. Not known when false.
  var isLocalForm = false

  init(kind: Kind, namespace: Range<Int>, ack: UInt64?, content: Content) {
    self.kind = kind
    self.namespace = namespace
    self.ack = ack
    self.content = content
  }

  /// Parses a whole text from `start` on. `long` is what is known of it already.
  init(
    parsing text: RawSpan, from start: Int, attachmentLimit: Int, long: LongPacket? = nil
  ) throws(SocketIOProblem) {
    var at = start
    guard let kind = Kind(rawValue: JSONScanner.byte(text, at) &- UInt8(ascii: "0")) else { throw .unknownType }
    self.kind = kind
    at += 1
    if kind.isBinary {
      attachments = try Self.attachmentCount(text, &at, limit: attachmentLimit)
    }
    namespace = Self.namespace(text, &at)
    switch kind {
    // Digits there are no id, but what some server says as its reason.
    case .connect, .disconnect, .connectError: break
    case .event, .binaryEvent: ack = try Self.ack(text, &at)
    case .acknowledgement, .binaryAcknowledgement:
      ack = try Self.ack(text, &at)
      guard ack != nil else { throw .malformedAck }
    }
    content =
      switch kind {
      case .connect: Self.connect(text, at)
      case .disconnect: .disconnect(Self.word(text, at))
      case .connectError: .connectError(Self.word(text, at))
      case .event, .binaryEvent: try Self.event(text, at, long)
      case .acknowledgement, .binaryAcknowledgement: try Self.acknowledgement(text, at, long)
      }
    if let long, !kind.isBinary { isLocalForm = long.isLocalForm && long.end(text, array: at) != nil }
  }

  /// Where the array of an event or an acknowledgement without attachments begins; nil for another packet, or where that has
  /// not come.
  static func array(_ text: RawSpan, from start: Int) -> Int? {
    switch Kind(rawValue: JSONScanner.byte(text, start) &- UInt8(ascii: "0")) {
    case .event, .acknowledgement: break
    case .connect, .disconnect, .connectError, .binaryEvent, .binaryAcknowledgement, nil: return nil
    }
    var at = start + 1
    _ = namespace(text, &at)
    do { _ = try ack(text, &at) } catch { return nil }
    return JSONScanner.byte(text, at) == UInt8(ascii: "[") ? at : nil
  }

  /// The parts of an event without attachments.
  struct PlainEvent: Equatable {
    var name: Range<Int>
    var arguments: Range<Int>
    /// Empty for the main namespace.
    var namespace: Range<Int>
    var ack: UInt64?
  }

  /// The event that a text is from `start` on. Nil for any other packet, and for one that `init(parsing:)` has something to
  /// say about. Nearly all texts are such an event, and this says it without putting a packet together.
  @inline(__always)
  static func plainEvent(in text: RawSpan, from start: Int) -> PlainEvent? {
    guard JSONScanner.byte(text, start) == UInt8(ascii: "0") &+ Kind.event.rawValue else { return nil }
    var at = start &+ 1
    let namespace = Self.namespace(text, &at)
    do {
      let ack = try Self.ack(text, &at)
      let (name, arguments) = try scanEvent(text, at)
      guard !SocketIOEventName.isReserved(text, name) else { return nil }
      return PlainEvent(name: name, arguments: arguments, namespace: namespace, ack: ack)
    } catch { return nil }
  }

  // MARK: - The head

  private static func attachmentCount(
    _ text: RawSpan, _ at: inout Int, limit: Int
  ) throws(SocketIOProblem) -> Int {
    let count: UInt64?
    do throws(TooLargeNumber) { count = try digits(text, &at) } catch { throw .tooManyAttachments(limit: limit) }
    guard let count, JSONScanner.byte(text, at) == UInt8(ascii: "-") else { throw .malformedAttachmentCount }
    at += 1
    guard count <= UInt64(clamping: limit) else { throw .tooManyAttachments(limit: limit) }
    return Int(count)
  }

  /// Up to the first comma or the end; the main namespace may be written out.
  private static func namespace(_ text: RawSpan, _ at: inout Int) -> Range<Int> {
    guard JSONScanner.byte(text, at) == UInt8(ascii: "/") else { return 0..<0 }
    let start = at
    while at < text.byteCount, JSONScanner.byte(text, at) != UInt8(ascii: ",") { at += 1 }
    let range = start..<at
    if at < text.byteCount { at += 1 }
    return range.count == 1 ? 0..<0 : range
  }

  private static func ack(_ text: RawSpan, _ at: inout Int) throws(SocketIOProblem) -> UInt64? {
    do throws(TooLargeNumber) { return try digits(text, &at) } catch { throw .malformedAck }
  }

  private struct TooLargeNumber: Error {}

  /// A run of decimal digits; nil when there is none.
  private static func digits(_ text: RawSpan, _ at: inout Int) throws(TooLargeNumber) -> UInt64? {
    var value: UInt64?
    while case let digit = JSONScanner.byte(text, at) &- UInt8(ascii: "0"), digit < 10 {
      let (tenfold, overflowed) = (value ?? 0).multipliedReportingOverflow(by: 10)
      let (sum, carried) = tenfold.addingReportingOverflow(UInt64(digit))
      guard !overflowed, !carried else { throw TooLargeNumber() }
      value = sum
      at += 1
    }
    return value
  }

  // MARK: - The payload

  private static func connect(_ text: RawSpan, _ start: Int) -> Content {
    guard start < text.byteCount else { return .connect(nil) }
    guard JSONScanner.byte(text, start) == UInt8(ascii: "{"), let object = word(text, start) else {
      return .malformedConnect
    }
    return .connect(object)
  }

  /// What a server says about one namespace, if it is one JSON value. The links of others do not depend on how well it puts
  /// that.
  private static func word(_ text: RawSpan, _ start: Int) -> Range<Int>? {
    do throws(JSONError) {
      var at = start
      let range = try JSONScanner.scanValue(text, &at)
      try end(text, at)
      return range
    } catch { return nil }
  }

  private static func event(_ text: RawSpan, _ start: Int, _ long: LongPacket?) throws(SocketIOProblem) -> Content {
    let name: Range<Int>
    let arguments: Range<Int>
    do throws(JSONError) { (name, arguments) = try scanEvent(text, start, long) } catch { return try unreadable(error) }
    guard !SocketIOEventName.isReserved(text, name) else { throw .reservedEvent }
    return .event(name: name, arguments: arguments)
  }

  private static func acknowledgement(
    _ text: RawSpan, _ start: Int, _ long: LongPacket?
  ) throws(SocketIOProblem) -> Content {
    do throws(JSONError) {
      var at = start
      guard try openArray(text, &at) else {
        try end(text, at)
        return .acknowledgement(arguments: at..<at)
      }
      if let end = long?.end(text, array: start) { return .acknowledgement(arguments: known(text, at, end)) }
      let arguments = try elements(text, &at)
      try end(text, at)
      return .acknowledgement(arguments: arguments)
    } catch { return try unreadable(error) }
  }

  private static func unreadable(_ error: JSONError) throws(SocketIOProblem) -> Content {
    guard case .depth = error else { throw .malformedPayload }
    // Nested more deeply than we read.
    return .unreadable(.undecodable)
  }

  @inline(__always)
  private static func scanEvent(
    _ text: RawSpan, _ start: Int, _ long: LongPacket? = nil
  ) throws(JSONError) -> (name: Range<Int>, arguments: Range<Int>) {
    var at = start
    guard try openArray(text, &at) else { throw .syntax(at: at) }
    let name = try eventName(text, &at)
    var arguments = at..<at
    if try JSONScanner.stepToNext(text, &at, end: UInt8(ascii: "]")) {
      if let end = long?.end(text, array: start) { return (name, known(text, at, end)) }
      arguments = try elements(text, &at)
    }
    try end(text, at)
    return (name, arguments)
  }

  /// The arguments of an array that ends at `end` and is known to be well-formed.
  private static func known(_ text: RawSpan, _ start: Int, _ end: Int) -> Range<Int> {
    var last = end - 1
    while last > start, [0x20, 0x0a, 0x0d, 0x09].contains(JSONScanner.byte(text, last - 1)) { last -= 1 }
    return start..<last
  }

  /// A string or a number.
  @inline(__always)
  private static func eventName(_ text: RawSpan, _ at: inout Int) throws(JSONError) -> Range<Int> {
    switch JSONScanner.byte(text, at) {
    case UInt8(ascii: "\""): return try JSONScanner.scanString(text, &at)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try JSONScanner.scanValue(text, &at)
    default: throw .syntax(at: at)
    }
  }

  /// Steps to the first element and returns true, or behind an empty array and returns false.
  @inline(__always)
  private static func openArray(_ text: RawSpan, _ at: inout Int) throws(JSONError) -> Bool {
    guard JSONScanner.byte(text, at) == UInt8(ascii: "[") else { throw .syntax(at: at) }
    return JSONScanner.openContainer(text, &at, end: UInt8(ascii: "]"))
  }

  /// A line of the local protocol wraps arguments in three more levels.
  static let argumentsDepth = JSONScanner.depthLimit - 3

  /// From the element at `at` to the last one; `at` is left behind the closing bracket.
  private static func elements(_ text: RawSpan, _ at: inout Int) throws(JSONError) -> Range<Int> {
    let start = at
    var last = at
    repeat {
      _ = try JSONScanner.scanValue(text, &at, depth: argumentsDepth)
      last = at
    } while try JSONScanner.stepToNext(text, &at, end: UInt8(ascii: "]"))
    return start..<last
  }

  /// Nothing but white space may follow.
  @inline(__always)
  private static func end(_ text: RawSpan, _ at: Int) throws(JSONError) {
    var at = at
    JSONScanner.skipWhitespace(text, &at)
    guard at == text.byteCount else { throw .syntax(at: at) }
  }
}
