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

/// What consists of texts and can be compared by their bytes, as `ExactText` is. `==` of a `String` also holds for
/// other Unicode spellings, which to servers and access rules are other names.
public protocol ExactlyComparable: Sendable {
  /// Whether all bytes are the same.
  func isExactly(_ other: Self) -> Bool
  func hashExactly(into hasher: inout Hasher)
}

extension String: ExactlyComparable {
  @inline(__always)
  public func isExactly(_ other: String) -> Bool { utf8Span.span.bytes.isEqual(to: other.utf8Span.span.bytes) }

  public func hashExactly(into hasher: inout Hasher) {
    let bytes = utf8Span.span.bytes
    hasher.combine(bytes.byteCount)
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
  }
}

extension Optional: ExactlyComparable where Wrapped: ExactlyComparable {
  public func isExactly(_ other: Wrapped?) -> Bool {
    guard let self, let other else { return (self == nil) == (other == nil) }
    return self.isExactly(other)
  }

  public func hashExactly(into hasher: inout Hasher) {
    hasher.combine(self == nil)
    self?.hashExactly(into: &hasher)
  }
}

extension Array: ExactlyComparable where Element: ExactlyComparable {
  public func isExactly(_ other: [Element]) -> Bool {
    count == other.count && zip(self, other).allSatisfy { $0.isExactly($1) }
  }

  public func hashExactly(into hasher: inout Hasher) {
    hasher.combine(count)
    for element in self { element.hashExactly(into: &hasher) }
  }
}

/// A text, or texts, of a value that equals another one only if all their bytes do.
@propertyWrapper
public struct ByBytes<Texts: ExactlyComparable>: Hashable, Sendable {
  public var wrappedValue: Texts

  public init(wrappedValue: Texts) { self.wrappedValue = wrappedValue }

  public static func == (a: Self, b: Self) -> Bool { a.wrappedValue.isExactly(b.wrappedValue) }

  public func hash(into hasher: inout Hasher) { wrappedValue.hashExactly(into: &hasher) }
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
