import GatewayCore

/// What a call becomes that is longer than the daemon's line: calls with the same params, each of which brings a piece of
/// the text of its `args` (`part` of `send` and `request`).
enum MessageParts {
  /// Methods that take parts.
  static let methods: Set<String> = ["send", "request"]
  /// Most bytes of one piece, as the protocol has it.
  private static let limit = 128 << 10
  /// What a line has around the params and its piece, at most.
  private static let allowance = 512

  /// The params of each of the calls. Nil: the params are too long without their `args`.
  ///
  /// - Parameter id: what the parts have in common.
  static func params(of params: [UInt8], id: Int, lineLimit: Int) -> [[UInt8]]? {
    guard let object = RawJSONObject(params), let args = object["args"] else { return nil }
    let others = object.text(without: "args")
    // A quote or a backslash of the text takes two bytes in a string.
    let room = min(limit, (lineLimit - others.count - allowance) / 2)
    guard room >= 4 else { return nil }
    var parts: [[UInt8]] = []
    var place = 0
    while place < args.count {
      let end = cut(args, place + room)
      parts.append(part(others, id: id, place: place, total: args.count, args[place..<end]))
      place = end
    }
    return parts
  }

  /// The last place up to `end` at which a character begins.
  private static func cut(_ text: [UInt8], _ end: Int) -> Int {
    guard end < text.count else { return text.count }
    var end = end
    while text[end] & 0xc0 == 0x80 { end -= 1 }
    return end
  }

  private static func part(
    _ others: [UInt8], id: Int, place: Int, total: Int, _ data: ArraySlice<UInt8>
  ) -> [UInt8] {
    var writer = JSONWriter(reserving: others.count + 2 * data.count + allowance)
    writer.beginObject()
    writer.key("id")
    writer.integer(id)
    writer.key("at")
    writer.integer(place)
    writer.key("of")
    writer.integer(total)
    writer.key("data")
    writer.string(String(decoding: data, as: UTF8.self))
    writer.endObject()
    return others.dropLast() + Array((others.count > 2 ? "," : "").utf8) + Array("\"part\":".utf8) + writer.bytes
      + [UInt8(ascii: "}")]
  }
}
