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
