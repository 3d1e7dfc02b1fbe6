/// One piece of a message that is longer than a line: of the text of its `args`, which is a JSON array. A message's
/// parts are calls with the same params but for this one; only the last is answered. Decision 0131.
struct MessagePart: Equatable, Sendable {
  /// What the parts of one message have in common, chosen by the client.
  let id: RequestID
  /// How many bytes of the text come before this piece.
  let place: Int
  /// How many bytes the whole text has.
  let total: Int
  let data: [UInt8]

  /// Most bytes of one piece: what is done with them is done in one go.
  static let limit = 128 << 10

  var end: Int { place + data.count }
  var isLast: Bool { end == total }
}

extension ParameterValues {
  /// Exactly `id`, `at`, `of` and `data`, which fit together.
  func part(_ line: RawSpan) throws(LocalError) -> MessagePart? {
    guard let range = range(.part) else { return nil }
    var at = range.lowerBound
    var id: RequestID?
    var (place, total): (Int?, Int?)
    var data: (bytes: [UInt8], wellFormed: Bool)?
    var unknown: String?
    do {
      try JSONScanner.scanObject(line, &at, refuseDuplicates: true) { key, value in
        if JSONScanner.stringEquals(line, key, "id") {
          id = RequestID(line, value)
        } else if JSONScanner.stringEquals(line, key, "at") {
          place = JSONScanner.integer(line, value).map { Int($0) }
        } else if JSONScanner.stringEquals(line, key, "of") {
          total = JSONScanner.integer(line, value).map { Int($0) }
        } else if JSONScanner.stringEquals(line, key, "data") {
          guard JSONScanner.byte(line, value.lowerBound) == UInt8(ascii: "\"") else { return }
          data = JSONScanner.decodeBytes(line, value)
        } else {
          unknown = unknown ?? JSONScanner.decodeString(line, key)
        }
      }
    } catch { throw .wrongParameter(.part, of: method) }
    if let unknown { throw .unknownMember(unknown, of: .part, of: method) }
    let lengths = 1...ParameterKind.exactIntegerLimit
    guard let id, let place, let total, let data, data.wellFormed, (1...MessagePart.limit).contains(data.bytes.count),
      place >= 0, lengths.contains(total), place <= total - data.bytes.count
    else { throw .wrongParameter(.part, of: method) }
    return MessagePart(id: id, place: place, total: total, data: data.bytes)
  }
}
