/// One Socket.IO packet as its text says, before its attachments. Ranges are offsets into that text; JSON in them is
/// validated. Socket.IO protocol, section "Packet encoding"; all servers alike.
struct SocketIOPacket: Equatable, Sendable {
  enum Content: Equatable, Sendable {
    /// The JSON object, if there is one.
    case connect(Range<Int>?)
    /// A CONNECT with anything else.
    case malformedConnect
    /// A CONNECT with more than `wordLimit` bytes, which are not read.
    case oversizedConnect
    /// JSON text of any kind, which some servers add.
    case disconnect(Range<Int>?)
    /// `name` is a string with its quotes or a number; `arguments` what follows it, without brackets, maybe empty.
    /// The name may be a reserved one.
    case event(name: Range<Int>, arguments: Range<Int>)
    case acknowledgement(arguments: Range<Int>)
    /// JSON text of any kind; nil where the server gave no reason that can be read.
    case connectError(Range<Int>?)
    /// An event or acknowledgement that cannot be shown.
    case unreadable(SocketIOFlaw)
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
  /// The first elements of a server's words, where they are known already.
  var elements: [JSONProgress.Element]?
  /// The arguments are known to be in the local form. Not known when false.
  var isLocalForm = false
  /// The payload is no JSON: it holds `NonNumbers`, and is too long for them to be replaced.
  private(set) var hasNonNumbers = false

  /// Whether nothing of its payload can be handed on.
  var isUnreadable: Bool { if case .unreadable = content { true } else { false } }

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
    guard at - start <= Self.headLimit else {
      // No channel has a namespace of that name.
      content = .unreadable(.tooLarge)
      return
    }
    do throws(SocketIOFlaw) {
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
        case .disconnect: .disconnect(Self.word(text, at, long))
        case .connectError: .connectError(Self.word(text, at, long))
        case .event, .binaryEvent: try Self.event(text, at, long)
        case .acknowledgement, .binaryAcknowledgement: try Self.acknowledgement(text, at, long)
        }
    } catch { content = .unreadable(error) }
    if kind == .disconnect || kind == .connectError {
      elements = (try? long?.outline(text, array: at))?.elements
    } else if let long, let known = try? long.outline(text, array: at) {
      isLocalForm = long.isLocalForm && !kind.isBinary
      hasNonNumbers = known.hasNonNumbers
    }
  }

  /// Longest text before a packet's payload, in bytes; most of it the namespace.
  static let headLimit = 16 << 10
  /// Longest payload of a CONNECT that is read, in bytes.
  static let wordLimit = LongText.wordLimit

  /// Where the array of an event or an acknowledgement begins, or what a server says about a namespace; nil for another
  /// packet, or where that has not come.
  static func payload(_ text: RawSpan, from start: Int) -> Int? {
    var at = start + 1
    switch Kind(rawValue: JSONScanner.byte(text, start) &- UInt8(ascii: "0")) {
    case .event, .acknowledgement: break
    case .binaryEvent, .binaryAcknowledgement:
      do { _ = try attachmentCount(text, &at, limit: .max) } catch { return nil }
    case .disconnect, .connectError:
      _ = namespace(text, &at)
      return at - start <= headLimit && at < text.byteCount ? at : nil
    case .connect, nil: return nil
    }
    _ = namespace(text, &at)
    guard at - start <= headLimit else { return nil }
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
    /// As in the packet.
    var isLocalForm: Bool
  }

  /// The event that a text is from `start` on. Nil for any other packet, for one that `init(parsing:)` finds something
  /// wrong with, and for a reserved name. Nearly all texts are such an event, and this says it without putting a packet
  /// together.
  @inline(__always)
  static func plainEvent(in text: RawSpan, from start: Int) -> PlainEvent? {
    guard JSONScanner.byte(text, start) == UInt8(ascii: "0") &+ Kind.event.rawValue else { return nil }
    var at = start &+ 1
    let namespace = Self.namespace(text, &at)
    do {
      let ack = try Self.ack(text, &at)
      var notes = JSONScanner.Notes()
      let (name, arguments) = try scanEvent(text, at, nil, &notes)
      guard !SocketIOEventName.isReserved(text, name) else { return nil }
      return PlainEvent(
        name: name, arguments: arguments, namespace: namespace, ack: ack, isLocalForm: notes == JSONScanner.Notes())
    } catch { return nil }
  }

  /// The parts of an acknowledgement without attachments.
  struct PlainAcknowledgement: Equatable {
    var arguments: Range<Int>
    /// Empty for the main namespace.
    var namespace: Range<Int>
    var ack: UInt64
    /// As in the packet.
    var isLocalForm: Bool
  }

  /// The same for an acknowledgement: nil for any other packet, and for one that `init(parsing:)` finds something wrong
  /// with.
  static func plainAcknowledgement(in text: RawSpan, from start: Int) -> PlainAcknowledgement? {
    guard JSONScanner.byte(text, start) == UInt8(ascii: "0") &+ Kind.acknowledgement.rawValue else { return nil }
    var at = start &+ 1
    let namespace = Self.namespace(text, &at)
    do {
      guard let ack = try Self.ack(text, &at) else { return nil }
      var notes = JSONScanner.Notes()
      let arguments = try scanAcknowledgement(text, at, nil, &notes)
      return PlainAcknowledgement(
        arguments: arguments, namespace: namespace, ack: ack, isLocalForm: notes == JSONScanner.Notes())
    } catch { return nil }
  }

  // MARK: - The head

  private static func attachmentCount(
    _ text: RawSpan, _ at: inout Int, limit: Int
  ) throws(SocketIOProblem) -> Int {
    let count: UInt64?
    do { count = try digits(text, &at) } catch { throw .tooManyAttachments(limit: limit) }
    guard let count, JSONScanner.byte(text, at) == UInt8(ascii: "-") else { throw .malformedAttachmentCount }
    at += 1
    guard count <= UInt64(clamping: limit) else { throw .tooManyAttachments(limit: limit) }
    return Int(count)
  }

  /// Up to the first comma or the end, or up to what is too long; the main namespace may be written out.
  private static func namespace(_ text: RawSpan, _ at: inout Int) -> Range<Int> {
    guard JSONScanner.byte(text, at) == UInt8(ascii: "/") else { return 0..<0 }
    let start = at
    let end = min(text.byteCount, start + headLimit + 1)
    while at < end, JSONScanner.byte(text, at) != UInt8(ascii: ",") { at += 1 }
    let range = start..<at
    if at < text.byteCount { at += 1 }
    return range.count == 1 ? 0..<0 : range
  }

  private static func ack(_ text: RawSpan, _ at: inout Int) throws(SocketIOFlaw) -> UInt64? {
    try digits(text, &at)
  }

  /// Most digits of a number, leading zeros among them.
  private static let digitLimit = 64

  /// A run of decimal digits; nil when there is none. Throws for a number that is too large.
  private static func digits(_ text: RawSpan, _ at: inout Int) throws(SocketIOFlaw) -> UInt64? {
    var value: UInt64?
    let longest = at + digitLimit
    while case let digit = JSONScanner.byte(text, at) &- UInt8(ascii: "0"), digit < 10 {
      let (tenfold, overflowed) = (value ?? 0).multipliedReportingOverflow(by: 10)
      let (sum, carried) = tenfold.addingReportingOverflow(UInt64(digit))
      guard !overflowed, !carried, at < longest else { throw .malformedAck }
      value = sum
      at += 1
    }
    return value
  }

  // MARK: - The payload

  private static func connect(_ text: RawSpan, _ start: Int) -> Content {
    guard start < text.byteCount else { return .connect(nil) }
    guard text.byteCount - start <= wordLimit else { return .oversizedConnect }
    guard JSONScanner.byte(text, start) == UInt8(ascii: "{"), let object = word(text, start) else {
      return .malformedConnect
    }
    return .connect(object)
  }

  /// What a server says about one namespace, if it is one JSON value. The links of others do not depend on how well it
  /// puts that.
  private static func word(_ text: RawSpan, _ start: Int, _ long: LongPacket? = nil) -> Range<Int>? {
    do throws(JSONError) {
      if let known = try long?.outline(text, array: start) { return known.hasNonNumbers ? nil : known.range }
      var at = start
      let range = try JSONScanner.scanValue(text, &at)
      try end(text, at)
      return range
    } catch { return nil }
  }

  private static func event(_ text: RawSpan, _ start: Int, _ long: LongPacket?) throws(SocketIOFlaw) -> Content {
    do throws(JSONError) {
      var ignored = JSONScanner.Notes()
      let (name, arguments) = try scanEvent(text, start, long, &ignored)
      return .event(name: name, arguments: arguments)
    } catch { throw flaw(error) }
  }

  private static func acknowledgement(
    _ text: RawSpan, _ start: Int, _ long: LongPacket?
  ) throws(SocketIOFlaw) -> Content {
    do throws(JSONError) {
      var ignored = JSONScanner.Notes()
      return .acknowledgement(arguments: try scanAcknowledgement(text, start, long, &ignored))
    } catch { throw flaw(error) }
  }

  @inline(__always)
  private static func scanAcknowledgement(
    _ text: RawSpan, _ start: Int, _ long: LongPacket?, _ notes: inout JSONScanner.Notes
  ) throws(JSONError) -> Range<Int> {
    var at = start
    guard try openArray(text, &at) else {
      try end(text, at)
      return at..<at
    }
    if let known = try long?.outline(text, array: start) { return at..<max(at, known.elementsEnd) }
    let arguments = try elements(text, &at, &notes)
    try end(text, at)
    return arguments
  }

  private static func flaw(_ error: JSONError) -> SocketIOFlaw {
    if case .depth = error { .undecodable } else { .malformedPayload }
  }

  @inline(__always)
  private static func scanEvent(
    _ text: RawSpan, _ start: Int, _ long: LongPacket?, _ notes: inout JSONScanner.Notes
  ) throws(JSONError) -> (name: Range<Int>, arguments: Range<Int>) {
    do throws(JSONError) {
      if let known = try long?.outline(text, array: start) { return try event(text, known, array: start) }
    } catch {
      // What is deep before there is a name is none.
      guard case .depth = error, long?.hasName == false else { throw error }
      throw .syntax(at: start)
    }
    var at = start
    guard try openArray(text, &at) else { throw .syntax(at: at) }
    let name = try eventName(text, &at)
    var arguments = at..<at
    if try JSONScanner.stepToNext(text, &at, end: UInt8(ascii: "]")) {
      arguments = try elements(text, &at, &notes)
    }
    try end(text, at)
    return (name, arguments)
  }

  /// The name and the arguments of an array that is known to be well-formed.
  private static func event(
    _ text: RawSpan, _ known: LongText.Outline, array: Int
  ) throws(JSONError) -> (name: Range<Int>, arguments: Range<Int>) {
    guard let name = known.elements.first?.value, mayBeginName(JSONScanner.byte(text, name.lowerBound)) else {
      throw .syntax(at: array)
    }
    guard known.count > 1 else { return (name, name.upperBound..<name.upperBound) }
    return (name, known.elements[1].value.lowerBound..<known.elementsEnd)
  }

  private static func mayBeginName(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "-") || byte &- UInt8(ascii: "0") < 10
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

  /// From the element at `at` to the last one; `at` is left behind the closing bracket.
  private static func elements(
    _ text: RawSpan, _ at: inout Int, _ notes: inout JSONScanner.Notes
  ) throws(JSONError) -> Range<Int> {
    let start = at
    var last = at
    repeat {
      _ = try JSONScanner.scanValue(text, &at, depth: LineDepth.argumentLimit, &notes)
      last = at
    } while try JSONScanner.stepToNext(text, &at, end: UInt8(ascii: "]"), &notes)
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
