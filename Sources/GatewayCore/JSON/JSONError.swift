/// Why a text is not the JSON that the daemon accepts. Offsets count bytes from the beginning of the text.
public enum JSONError: Error, Equatable, Sendable {
  /// The grammar of RFC 8259 is broken at this byte, or the text ends here too early.
  case syntax(at: Int)
  /// A malformed UTF-8 sequence begins at this byte (RFC 3629, section 4).
  case utf8(at: Int)
  /// The array or object that begins at this byte is nested more deeply than allowed.
  case depth(at: Int)
  /// The key that begins at this byte was used before in the same object.
  case duplicateKey(at: Int)
  /// It has more bytes than are read.
  case tooLong(limit: Int)

  /// Where it happened.
  public var offset: Int {
    switch self {
    case .syntax(let at), .utf8(let at), .depth(let at), .duplicateKey(let at), .tooLong(let at): at
    }
  }
}
