/// A text that equals another one only if all bytes do; a `String` also equals its other Unicode spellings.
public struct ExactText: Hashable, Sendable {
  public let text: String

  init(_ text: String) { self.text = text }

  public static func == (a: Self, b: Self) -> Bool {
    a.text.utf8Span.span.bytes.isEqual(to: b.text.utf8Span.span.bytes)
  }

  public func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
