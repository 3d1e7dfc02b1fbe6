/// A text that equals another one only if all bytes do; a `String` also equals its other Unicode spellings. It is
/// hashed once, however many tables it goes through.
struct ExactText: Hashable, Sendable {
  let text: String
  private let hash: Int

  init(_ text: String) {
    self.text = text
    var text = text
    var hasher = Hasher()
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hash = hasher.finalize()
  }

  static func == (a: Self, b: Self) -> Bool {
    a.hash == b.hash && a.text.utf8Span.span.bytes.isEqual(to: b.text.utf8Span.span.bytes)
  }

  func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension RawSpan {
  /// Whether the other one holds the same bytes; eight at a time are compared, the last ones together with some before
  /// them.
  @inline(__always)
  func isEqual(to other: RawSpan) -> Bool {
    let count = byteCount
    guard count == other.byteCount else { return false }
    guard count >= 8 else { return isShortEqual(to: other) }
    var at = 0
    while at &+ 8 < count {
      guard isEqual(to: other, at, as: UInt64.self) else { return false }
      at &+= 8
    }
    return isEqual(to: other, count &- 8, as: UInt64.self)
  }

  /// The same for less than eight bytes: two halves that may overlap.
  @inline(__always)
  private func isShortEqual(to other: RawSpan) -> Bool {
    let count = byteCount
    if count >= 4 {
      return isEqual(to: other, 0, as: UInt32.self) && isEqual(to: other, count &- 4, as: UInt32.self)
    }
    if count >= 2 {
      return isEqual(to: other, 0, as: UInt16.self) && isEqual(to: other, count &- 2, as: UInt16.self)
    }
    return count == 0 || isEqual(to: other, 0, as: UInt8.self)
  }

  /// Whether the bytes at a place within both are the same.
  @inline(__always)
  private func isEqual<Word: FixedWidthInteger & BitwiseCopyable>(
    to other: RawSpan, _ at: Int, as type: Word.Type
  ) -> Bool {
    unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: Word.self)
      == other.unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: Word.self)
  }
}
