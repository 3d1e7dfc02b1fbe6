/// Takes the packets out of the body of a poll, one after the other. Nothing is copied: a packet is a range of the
/// body.
struct PayloadReader: Equatable, Sendable {
  /// One packet in the form that it would have in a WebSocket message.
  struct Packet: Equatable, Sendable {
    var isBinary: Bool
    var range: Range<Int>
  }

  /// Most packets of one body.
  static let packetLimit = 1 << 16
  /// Most digits of a packet's length.
  static let lengthDigits = 10

  /// What a look at the body brings.
  enum Step: Equatable, Sendable {
    case packet(Packet)
    /// So much of a long packet is there, and in order; the rest of it is looked at by the next steps.
    case part(Packet)
  }

  /// The packet that is being looked at.
  private struct Search: Equatable, Sendable {
    var isBinary = false
    let start: Int
    /// Up to where its end was looked for.
    var at: Int
    /// Behind its last byte, once that is found.
    var end: Int?
    /// UTF-16 units that are still to come, where they are counted.
    var units = 0
    /// Up to where it is known to be UTF-8.
    var judged: Int

    init(start: Int, end: Int? = nil) {
      self.start = start
      self.end = end
      (at, judged) = (start, start)
    }
  }

  let form: PayloadForm
  /// Largest packet, in bytes of the body.
  let sizeLimit: Int
  private var offset = 0
  private var count = 0
  private var search: Search?

  init(form: PayloadForm, sizeLimit: Int) {
    self.form = form
    self.sizeLimit = sizeLimit
  }

  /// The next packet of this body, which must be the same at each call; nil behind the last one. After an error nothing
  /// more is to be read.
  mutating func next(in body: [UInt8]) throws(EngineIOProblem) -> Packet? {
    while let step = try step(in: body, budget: .max) {
      if case .packet(let packet) = step { return packet }
    }
    return nil
  }

  /// The same in steps, of which none looks at many more than `budget` bytes.
  mutating func step(in body: [UInt8], budget: Int) throws(EngineIOProblem) -> Step? {
    if search == nil { search = try begin(body) }
    guard var search else { return nil }
    try find(&search, body, budget)
    try judge(&search, body, budget)
    guard let end = search.end, search.isBinary || search.judged == end else {
      self.search = search
      return .part(Packet(isBinary: search.isBinary, range: search.start..<search.judged))
    }
    self.search = nil
    offset = form == .separated ? end + 1 : end
    return .packet(Packet(isBinary: search.isBinary, range: search.start..<end))
  }

  /// Begins with the next packet; nil behind the last one.
  private mutating func begin(_ body: [UInt8]) throws(EngineIOProblem) -> Search? {
    if offset >= body.count, !(count == 0 && form == .separated) { return nil }
    guard count < Self.packetLimit else { throw .tooManyPackets(limit: Self.packetLimit) }
    // So says an old server that it has nothing to say.
    if form == .counted, count == 0, body.elementsEqual([UInt8(ascii: "0"), UInt8(ascii: ":")]) { return nil }
    count += 1
    switch form {
    case .separated: return Search(start: offset)
    case .counted:
      let units = try readLength(body, zero: 48, end: UInt8(ascii: ":"))
      var search = Search(start: offset)
      search.units = units
      return search
    case .octets:
      let kind = body[offset]
      guard kind <= 1 else { throw .malformedPayload }
      offset += 1
      let length = try readLength(body, zero: 0, end: 0xff)
      guard length <= body.count - offset else { throw .incompletePayload }
      var search = Search(start: offset, end: offset + length)
      search.isBinary = kind == 1
      return search
    }
  }

  /// Looks for the packet's end, and says what is wrong with its length.
  private func find(_ search: inout Search, _ body: [UInt8], _ budget: Int) throws(EngineIOProblem) {
    if search.end == nil {
      switch form {
      case .separated: try findSeparator(&search, body, budget)
      case .counted: try countUnits(&search, body, budget)
      case .octets: break
      }
    }
    if search.end == search.start { throw .malformedPayload }
    guard (search.end ?? search.at) - search.start <= sizeLimit else { throw .packetTooLarge }
  }

  private func findSeparator(_ search: inout Search, _ body: [UInt8], _ budget: Int) throws(EngineIOProblem) {
    let limit = Self.limit(search.at, budget, body.count)
    if let end = body[search.at..<limit].firstIndex(of: PayloadForm.separator) {
      // A separator is between packets, never behind the last.
      if end == body.count - 1 { throw .malformedPayload }
      search.end = end
    } else if limit == body.count {
      search.end = limit
    } else {
      search.at = limit
    }
  }

  /// Counts characters as UTF-16 does.
  private func countUnits(_ search: inout Search, _ body: [UInt8], _ budget: Int) throws(EngineIOProblem) {
    let limit = Self.limit(search.at, budget, body.count)
    while search.units > 0, search.at < limit {
      let width = Self.width(body[search.at])
      guard width > 0 else { throw .payloadNotUTF8 }
      search.units -= width == 4 ? 2 : 1
      search.at += width
    }
    guard search.units >= 0 else { throw .malformedPayload }
    guard search.at <= body.count, search.units == 0 || search.at < body.count else { throw .incompletePayload }
    if search.units == 0 { search.end = search.at }
  }

  /// Looks whether a text is UTF-8, as far as its characters are known to be complete.
  private func judge(_ search: inout Search, _ body: [UInt8], _ budget: Int) throws(EngineIOProblem) {
    guard !search.isBinary else { return }
    let known = min(search.end ?? search.at, body.count)
    let limit = Self.limit(search.judged, budget, known)
    let piece = body.span.bytes.extracting(search.judged..<limit)
    let length = limit == search.end ? piece.byteCount : piece.endOfCharacters
    guard piece.extracting(0..<length).isUTF8 else { throw .payloadNotUTF8 }
    search.judged += length
  }

  private static func limit(_ start: Int, _ budget: Int, _ end: Int) -> Int {
    budget < end - start ? start + budget : end
  }

  /// Reads digits, of which the first has the value `zero`, and what ends them.
  private mutating func readLength(_ body: [UInt8], zero: UInt8, end: UInt8) throws(EngineIOProblem) -> Int {
    var length = 0
    var digits = 0
    while offset < body.count, body[offset] != end {
      let (digit, isBelow) = body[offset].subtractingReportingOverflow(zero)
      guard !isBelow, digit <= 9, digits < Self.lengthDigits else { throw .malformedPayload }
      length = length * 10 + Int(digit)
      digits += 1
      offset += 1
    }
    guard offset < body.count else { throw .incompletePayload }
    guard digits > 0 else { throw .malformedPayload }
    offset += 1
    return length
  }

  /// How many bytes a character has that begins so; 0 if none does.
  private static func width(_ byte: UInt8) -> Int {
    switch byte {
    case 0..<0x80: 1
    case 0xc2..<0xe0: 2
    case 0xe0..<0xf0: 3
    case 0xf0..<0xf5: 4
    default: 0
    }
  }
}

/// How the packets of one HTTP body are put together. Engine.IO protocol, section "Payload". Decision 0010.
enum PayloadForm: Equatable, Sendable {
  /// Revision 4: packets separated by a record separator, binary as base64.
  case separated
  /// Revision 3, text: each packet behind its length in UTF-16 units and a colon, binary as base64.
  case counted
  /// Revision 3, binary: each packet behind its kind, its length in bytes as digits of one byte each, and 0xff.
  case octets

  /// The byte between the packets of revision 4.
  static let separator: UInt8 = 0x1e

  /// The revision whose form it is.
  var revision: EngineIORevision { self == .separated ? .four : .three }

  /// The form of a first body, whatever was asked for: servers of revision 3 ignore a wish for revision 4. Nil when it
  /// is none of the three.
  init?(opening body: [UInt8], contentType: String?) {
    if body.first == UInt8(ascii: "0") {
      self = body.dropFirst().first == UInt8(ascii: ":") ? .counted : .separated
    } else if Self.isBinary(contentType), let first = body.first, first <= 1 {
      self = .octets
    } else {
      let digits = body.prefix(PayloadReader.lengthDigits).prefix { (48...57).contains($0) }
      guard !digits.isEmpty, body.dropFirst(digits.count).first == UInt8(ascii: ":") else { return nil }
      self = .counted
    }
  }

  /// The form of a later body. A server of revision 3 uses either form, whenever it likes.
  init(body: [UInt8], contentType: String?, revision: EngineIORevision) {
    switch revision {
    case .four: self = .separated
    case .three: self = Self.isBinary(contentType) && (body.first ?? 255) <= 1 ? .octets : .counted
    }
  }

  private static func isBinary(_ contentType: String?) -> Bool {
    contentType?.lowercased().hasPrefix("application/octet-stream") == true
  }
}
