/// Takes the packets out of the body of a poll, one after the other. Nothing is copied: a packet is a range of the body.
public struct PayloadReader: Equatable, Sendable {
  /// One packet in the form that it would have in a WebSocket message.
  public struct Packet: Equatable, Sendable {
    public var isBinary: Bool
    public var range: Range<Int>
  }

  /// Most packets of one body.
  public static let packetLimit = 1 << 16
  /// Most digits of a packet's length.
  static let lengthDigits = 10

  public let form: PayloadForm
  /// Largest packet, in bytes of the body.
  public let sizeLimit: Int
  private var offset = 0
  private var count = 0

  public init(form: PayloadForm, sizeLimit: Int) {
    self.form = form
    self.sizeLimit = sizeLimit
  }

  /// The next packet of this body, which must be the same at each call; nil behind the last one. After an error nothing
  /// more is to be read.
  public mutating func next(in body: [UInt8]) throws(PayloadProblem) -> Packet? {
    if offset >= body.count, !(count == 0 && form == .separated) { return nil }
    guard count < Self.packetLimit else { throw .tooManyPackets }
    let packet: Packet
    switch form {
    case .separated: packet = try nextSeparated(body)
    case .counted:
      // So says an old server that it has nothing to say.
      if count == 0, body.elementsEqual([UInt8(ascii: "0"), UInt8(ascii: ":")]) { return nil }
      packet = try nextCounted(body)
    case .octets: packet = try nextOctets(body)
    }
    count += 1
    guard !packet.range.isEmpty else { throw .malformed }
    guard packet.range.count <= sizeLimit else { throw .tooLarge }
    if !packet.isBinary, !Self.isUTF8(body, packet.range) { throw .notUTF8 }
    return packet
  }

  private mutating func nextSeparated(_ body: [UInt8]) throws(PayloadProblem) -> Packet {
    let start = offset
    let end = body[start...].firstIndex(of: PayloadForm.separator) ?? body.count
    offset = end + 1
    // A separator is between packets, never behind the last.
    if end == body.count - 1 { throw .malformed }
    return Packet(isBinary: false, range: start..<end)
  }

  private mutating func nextCounted(_ body: [UInt8]) throws(PayloadProblem) -> Packet {
    let length = try readLength(body, zero: 48, end: UInt8(ascii: ":"))
    let start = offset
    var units = 0
    while units < length {
      guard offset < body.count else { throw .incomplete }
      let width = Self.width(body[offset])
      guard width > 0 else { throw .notUTF8 }
      units += width == 4 ? 2 : 1
      offset += width
    }
    guard units == length else { throw .malformed }
    guard offset <= body.count else { throw .incomplete }
    return Packet(isBinary: false, range: start..<offset)
  }

  private mutating func nextOctets(_ body: [UInt8]) throws(PayloadProblem) -> Packet {
    let kind = body[offset]
    guard kind <= 1 else { throw .malformed }
    offset += 1
    let length = try readLength(body, zero: 0, end: 0xff)
    guard length <= body.count - offset else { throw .incomplete }
    defer { offset += length }
    return Packet(isBinary: kind == 1, range: offset..<(offset + length))
  }

  /// Reads digits, of which the first has the value `zero`, and what ends them.
  private mutating func readLength(_ body: [UInt8], zero: UInt8, end: UInt8) throws(PayloadProblem) -> Int {
    var length = 0
    var digits = 0
    while offset < body.count, body[offset] != end {
      let (digit, isBelow) = body[offset].subtractingReportingOverflow(zero)
      guard !isBelow, digit <= 9, digits < Self.lengthDigits else { throw .malformed }
      length = length * 10 + Int(digit)
      digits += 1
      offset += 1
    }
    guard offset < body.count else { throw .incomplete }
    guard digits > 0 else { throw .malformed }
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

  private static func isUTF8(_ body: [UInt8], _ range: Range<Int>) -> Bool {
    (try? UTF8Span(validating: body.span.extracting(range))) != nil
  }
}
