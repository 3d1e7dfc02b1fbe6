/// Puts the idempotency key of a send where the server can see it, so that it recognises what arrives twice.
/// Decision 0033.
enum KeyedArguments {
  /// The arguments with `{"member":"key"}` in them: in the last one if that is an object without this member, else
  /// behind it. `args` is a validated JSON array text; everything in it stays as it is.
  static func adding(_ key: String, as member: String, to args: [UInt8]) -> [UInt8] {
    var at = 0
    var last: Range<Int>?
    guard (try? JSONScanner.scanArray(args.span.bytes, &at, { last = $0 })) != nil,
      let end = args.lastIndex(of: UInt8(ascii: "]"))
    else { return args }
    var pair = JSONWriter()
    pair.beginObject()
    pair.member(member, key)
    pair.endObject()
    guard let last, let isEmpty = isOpen(args, last, to: member) else {
      let comma = last == nil ? [] : [UInt8(ascii: ",")]
      return Array(args[..<end]) + comma + pair.bytes + Array(args[end...])
    }
    let comma = isEmpty ? [] : [UInt8(ascii: ",")]
    return Array(args[...last.lowerBound]) + pair.bytes.dropFirst().dropLast() + comma
      + Array(args[(last.lowerBound + 1)...])
  }

  /// Whether an object that can take the member is empty; nil for anything that cannot take it: another kind of value,
  /// one that has the member, and binary.
  private static func isOpen(_ args: [UInt8], _ range: Range<Int>, to member: String) -> Bool? {
    let span = args.span.bytes
    guard JSONScanner.byte(span, range.lowerBound) == UInt8(ascii: "{") else { return nil }
    var at = range.lowerBound
    var keys: [String] = []
    let scanned: Void? = try? JSONScanner.scanObject(span, &at) { key, _ in
      keys.append(JSONScanner.decodeString(span, key))
    }
    guard scanned != nil else { return nil }
    let isBinary = keys.count == 1 && keys[0].hasSuffix("bin") && keys[0].dropLast(3).allSatisfy { $0 == "$" }
    return isBinary || keys.contains(where: member.isExactly) ? nil : keys.isEmpty
  }
}
