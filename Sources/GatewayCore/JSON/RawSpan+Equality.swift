extension RawSpan {
  /// Whether the other one holds the same bytes; eight at a time are compared.
  @inline(__always)
  func isEqual(to other: RawSpan) -> Bool {
    let count = byteCount
    guard count == other.byteCount else { return false }
    var at = 0
    while at &+ 8 <= count {
      let (a, b) = (
        unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: UInt64.self),
        other.unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: UInt64.self)
      )
      guard a == b else { return false }
      at &+= 8
    }
    while at < count {
      guard JSONScanner.byte(self, at) == JSONScanner.byte(other, at) else { return false }
      at &+= 1
    }
    return true
  }
}
