/// The event names that Socket.IO keeps for itself: written to a server they make it close the whole link.
enum SocketIOEventName {
  /// Reserved in every revision.
  private static let reserved: [StaticString] = [
    "connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener",
  ]

  /// The longest of them, each character as an escape, with its quotes.
  private static let longestReserved = 6 * 14 + 2

  /// Whether a scanned name may not come from a server; a number never is reserved.
  @inline(__always)
  static func isReserved(_ text: RawSpan, _ name: Range<Int>) -> Bool {
    guard JSONScanner.byte(text, name.lowerBound) == UInt8(ascii: "\"") else { return false }
    let first = JSONScanner.byte(text, name.lowerBound + 1)
    guard name.count <= longestReserved else { return false }
    return (mayBegin(first) || first == UInt8(ascii: "\\")) && isListed(text, name)
  }

  /// Whether one of `reserved` begins like that, which most names do not.
  @inline(__always)
  private static func mayBegin(_ first: UInt8) -> Bool {
    switch first {
    case UInt8(ascii: "c"), UInt8(ascii: "d"), UInt8(ascii: "n"), UInt8(ascii: "r"): true
    default: false
    }
  }

  private static func isListed(_ text: RawSpan, _ name: Range<Int>) -> Bool {
    let isEscaped = JSONScanner.hasEscape(text, name)
    return reserved.contains { candidate in
      (isEscaped || candidate.utf8CodeUnitCount == name.count - 2) && JSONScanner.stringEquals(text, name, candidate)
    }
  }

  /// Whether a name may not be sent. `error` is reserved by servers of Engine.IO revision 3 only; `revision` is nil
  /// while none is known.
  static func isReserved(_ name: String, revision: EngineIORevision?) -> Bool {
    guard let first = name.utf8.first else { return false }
    return mayBegin(first)
      ? reserved.contains { candidate in candidate.withUTF8Buffer { $0.elementsEqual(name.utf8) } }
      : revision == .three && name == "error"
  }
}
