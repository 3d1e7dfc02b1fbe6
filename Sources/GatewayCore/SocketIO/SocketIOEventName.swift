/// The event names that Socket.IO keeps for itself: written to a server they make it close the whole link.
enum SocketIOEventName {
  /// Reserved in every revision. Whoever adds one looks at the first letters below, which most names have not.
  private static let reserved: [StaticString] = [
    "connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener",
  ]

  /// Whether a scanned name may not come from a server; a number never is reserved.
  @inline(__always)
  static func isReserved(_ text: RawSpan, _ name: Range<Int>) -> Bool {
    guard JSONScanner.byte(text, name.lowerBound) == UInt8(ascii: "\"") else { return false }
    switch JSONScanner.byte(text, name.lowerBound + 1) {
    case UInt8(ascii: "c"), UInt8(ascii: "d"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "\\"): break
    default: return false
    }
    return isListed(text, name)
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
    switch name.utf8.first {
    case UInt8(ascii: "c"), UInt8(ascii: "d"), UInt8(ascii: "n"), UInt8(ascii: "r"):
      reserved.contains { candidate in candidate.withUTF8Buffer { $0.elementsEqual(name.utf8) } }
    case UInt8(ascii: "e"): name == "error" && revision == .three
    default: false
    }
  }
}
