/// The arguments of an event or of an answer, exactly as they were written.
///
/// `decode` makes them types of yours, `values` and subscripts read them as `JSON`, `text` is what came. Each of them reads
/// the text anew.
public struct Arguments: Sendable, Hashable, CustomStringConvertible {
  /// The text of a JSON array, in which bytes are `{"$bin":"<base64>"}` ("Payloads" in docs/protocol.md).
  public let text: [UInt8]

  /// How deep arguments may be nested: the line and its params are two levels more.
  static let depthLimit = JSONReader.depthLimit - 2
  static let none = Arguments(unchecked: Array("[]".utf8))

  /// What the daemon wrote.
  init(unchecked text: [UInt8]) { self.text = text }

  /// Throws `InvalidParams` where they are nested too deeply for the daemon.
  public init(_ values: [JSON]) throws(GatewayError) {
    text = JSONWriter.text(of: .array(values), form: .payload)
    try Self.check(text)
  }

  /// Values of any `Encodable` types. `[UInt8]` are bytes; integers keep all their digits.
  public init<each Value: Encodable>(encoding value: repeat each Value) throws {
    var values: [JSON] = []
    for value in repeat each value { values.append(try PayloadEncoder.encode(value)) }
    try self.init(values)
  }

  /// A text of yours, such as one that another encoder made: a JSON array, in strict UTF-8. Throws `InvalidParams` where
  /// it is none.
  public init(text: some Sequence<UInt8>) throws(GatewayError) {
    let text = Array(text)
    try Self.check(text)
    // What looks like the end of a line is space now: within a string it would be no JSON.
    self.text = text.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
    guard self.text.first(where: { $0 != 0x20 && $0 != 0x09 }) == UInt8(ascii: "[") else {
      throw GatewayError(.invalidParams, "arguments have to be an array", retry: false)
    }
  }

  /// The arguments one by one.
  public var values: [JSON] { (try? JSONReader.value(of: text, form: .payload).array) ?? [] }
  public var count: Int { values.count }
  /// One argument; nil where there are not so many.
  public subscript(index: Int) -> JSON? {
    let values = values
    return values.indices.contains(index) ? values[index] : nil
  }

  /// The first arguments, as these types: `let (name, count) = try event.args.decode(String.self, Int.self)`. Throws a
  /// `DecodingError` where one is missing or of another kind; an optional type may be missing.
  public func decode<each Value: Decodable>(_ type: repeat (each Value).Type) throws -> (repeat each Value) {
    let values = values
    var next = 0
    func take<One: Decodable>(_ type: One.Type) throws -> One {
      defer { next += 1 }
      return try PayloadDecoder.decode(type, from: next < values.count ? values[next] : .null, path: [IndexKey(next)])
    }
    return (repeat try take(each type))
  }

  public var description: String { String(decoding: text, as: UTF8.self) }

  private static func check(_ text: [UInt8]) throws(GatewayError) {
    let depth: Int
    do { depth = try JSONReader.depth(of: text) } catch { throw error.asGatewayError }
    guard depth <= depthLimit else { throw JSONReader.Failure.tooDeep.asGatewayError }
  }
}
