/// Writes compact JSON text. Commas and colons are placed automatically; that the calls make up one well-formed value
/// is the caller's business.
public struct JSONWriter {
  /// What was written so far.
  public var bytes: [UInt8] = []
  /// Whether a comma has to stand before the next key or value.
  private var needsComma = false

  public init(reserving capacity: Int = 256) { bytes.reserveCapacity(capacity) }

  /// Begins anew, in the same memory.
  mutating func clear() {
    bytes.removeAll(keepingCapacity: true)
    needsComma = false
  }

  public mutating func beginObject() { open(UInt8(ascii: "{")) }
  public mutating func endObject() { close(UInt8(ascii: "}")) }
  public mutating func beginArray() { open(UInt8(ascii: "[")) }
  public mutating func endArray() { close(UInt8(ascii: "]")) }

  /// The key of a member; its value has to follow.
  public mutating func key(_ name: String) {
    string(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// A string, escaped where it has to be.
  public mutating func string(_ value: String) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    value.utf8Span.span.withUnsafeBufferPointer { bytes.append(escaping: $0) }
    bytes.append(UInt8(ascii: "\""))
  }

  /// An integer of any width.
  public mutating func integer(_ value: some BinaryInteger) {
    separate()
    bytes.append(decimal: value)
  }

  /// The shortest text that reads back as the same number. JSON has no infinity and no NaN: they become `null`.
  public mutating func number(_ value: Double) {
    guard value.isFinite else { return null() }
    separate()
    bytes.append(contentsOf: value.description.utf8)
  }

  public mutating func bool(_ value: Bool) {
    separate()
    bytes.append(value ? "true" : "false" as StaticString)
  }

  mutating func null() {
    separate()
    bytes.append("null")
  }

  /// The beginning of something: a text that ends with an opening bracket or with the colon behind a key. Any comma
  /// before it is part of it.
  mutating func begin(_ text: StaticString) {
    bytes.append(text)
    needsComma = false
  }

  /// The same, with a comma before it where one has to stand.
  @inline(__always)
  mutating func begin(member text: StaticString) {
    separate()
    begin(text)
  }

  /// Whole members that are known when the program is built. Any comma before them is part of the text.
  mutating func finish(_ text: StaticString) {
    bytes.append(text)
    needsComma = true
  }

  /// A member of which all is JSON text already: what stands before its elements, these, and what stands behind them.
  mutating func member(_ begin: StaticString, elements: RawSpan, _ end: StaticString) {
    separate()
    bytes.append(room: begin.utf8CodeUnitCount + elements.byteCount + end.utf8CodeUnitCount) { out in
      out.put(begin)
      out.put(elements)
      out.put(end)
    }
  }

  /// One value that is JSON text already.
  public mutating func raw(_ value: RawSpan) {
    separate()
    bytes.append(value)
  }

  /// One value that is JSON text already.
  public mutating func raw(_ value: [UInt8]) {
    separate()
    bytes.append(contentsOf: value)
  }

  /// Writes values until one does not fit, which leaves the text no longer than so many bytes. Returns how many of them
  /// were left out. `tooLong` writes instead one that would not fit even as the first, and is told its size; `begin` is
  /// where the first stands, if not here.
  mutating func values<Element>(
    _ elements: [Element], within limit: Int, from begin: Int? = nil,
    tooLong: ((_ element: Element, _ size: Int, inout JSONWriter) -> Void)? = nil,
    _ write: (Element, inout JSONWriter) -> Void
  ) -> Int {
    let start = begin ?? bytes.count
    for (index, element) in elements.enumerated() {
      let (count, comma) = (bytes.count, needsComma)
      write(element, &self)
      guard bytes.count > limit else { continue }
      let size = bytes.count - count
      takeBack(to: count, comma)
      guard let tooLong, size > limit - start else { return elements.count - index }
      tooLong(element, size, &self)
      guard bytes.count > limit else { continue }
      takeBack(to: count, comma)
      return elements.count - index
    }
    return 0
  }

  private mutating func takeBack(to count: Int, _ comma: Bool) {
    bytes.removeLast(bytes.count - count)
    needsComma = comma
  }

  private mutating func open(_ bracket: UInt8) {
    separate()
    bytes.append(bracket)
    needsComma = false
  }

  private mutating func close(_ bracket: UInt8) {
    bytes.append(bracket)
    needsComma = true
  }

  @inline(__always)
  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

}

extension [UInt8] {
  @inline(__always)
  mutating func append(_ span: RawSpan) {
    span.withUnsafeBytes { append(contentsOf: $0) }
  }

  /// A text that is known when the program is built.
  @inline(__always)
  mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { append(contentsOf: $0) }
  }

  /// An integer in decimal digits, without an intermediate text.
  mutating func append(decimal value: some BinaryInteger) {
    guard let magnitude = UInt64(exactly: value.magnitude) else {
      append(contentsOf: String(value).utf8)
      return
    }
    if value < 0 { append(UInt8(ascii: "-")) }
    if magnitude < 10 { return append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: magnitude)) }
    append(room: RawWriter.digitLimit) { $0.put(decimal: magnitude) }
  }
}

/// Shorthands for the members of an object.
extension JSONWriter {
  mutating func object(_ body: (inout JSONWriter) -> Void) {
    beginObject()
    body(&self)
    endObject()
  }

  mutating func member(_ name: String, _ value: String) {
    key(name)
    string(value)
  }

  /// Nil becomes `null`.
  mutating func member(_ name: String, _ value: String?) {
    key(name)
    if let value { string(value) } else { null() }
  }

  mutating func member(_ name: String, _ value: some BinaryInteger) {
    key(name)
    integer(value)
  }

  /// Nil becomes `null`.
  mutating func member(_ name: String, _ value: (some BinaryInteger)?) {
    key(name)
    if let value { integer(value) } else { null() }
  }
}
