/// What holds for the name of an event, whoever chose it. Decision 0090.
enum EventName {
  /// Longest name, in bytes of UTF-8, of what a program sends and of what a server does: matching and remembering names
  /// costs as much as they are long. A longer one from a server is told as a gap.
  static let limit = 1_024

  /// Whether a name's JSON text, a string or a number, says more than that.
  @inline(__always)
  static func isTooLong(_ raw: RawSpan) -> Bool { raw.byteCount > limit + 2 && saysTooMuch(raw) }

  private static func saysTooMuch(_ raw: RawSpan) -> Bool {
    // An escape takes at most six bytes for one.
    guard raw.byteCount <= 6 * limit + 2, JSONScanner.hasEscape(raw, 0..<raw.byteCount) else { return true }
    return JSONScanner.decodeBytes(raw, 0..<raw.byteCount).bytes.count > limit
  }
}
