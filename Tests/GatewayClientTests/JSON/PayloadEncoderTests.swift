import Testing

@testable import GatewayClient

@Suite struct PayloadEncoderTests {
  private struct Order: Codable, Equatable {
    enum Kind: String, Codable { case sale, refund }
    var number: UInt64
    var kind: Kind
    var note: String?
    var picture: [UInt8]
    var lines: [[String: Double]]
    var more: JSON
  }

  @Test func aValueComesBackAsItWas() throws {
    let order = Order(
      number: .max, kind: .refund, note: nil, picture: [1, 2, 255], lines: [["price": 1.5], [:]],
      more: ["deep": [.null, 1, "x"]])
    let json = try JSON(encoding: order)
    #expect(json["number"]?.description == "18446744073709551615" && json["picture"] == .bytes([1, 2, 255]))
    #expect(json["note"] == nil && json["kind"] == "refund")
    #expect(try json.decode(Order.self) == order)
  }

  @Test func anEmptyArrayIsOneAndNoBytes() throws {
    #expect(try JSON(encoding: [String]()) == [])
    #expect(try JSON(encoding: [UInt8]()) == .bytes([]))
    #expect(try JSON.bytes([7]).decode([Int].self) == [7])
  }

  @Test func whatJSONDoesNotHaveIsRefused() {
    #expect(throws: EncodingError.self) { try JSON(encoding: ["a": Double.nan]) }
    #expect(throws: EncodingError.self) { try JSON(encoding: Float.infinity) }
  }

  @Test func whatDoesNotFitIsRefusedWithItsPlace() throws {
    let json = try JSON(text: #"{"number":1,"kind":"sale","picture":[1],"lines":[{"price":"x"}],"more":1}"#)
    do {
      _ = try json.decode(Order.self)
      Issue.record("a string is no number")
    } catch DecodingError.typeMismatch(_, let context) {
      #expect(context.codingPath.map(\.stringValue) == ["lines", "0", "price"])
    }
    #expect(throws: DecodingError.self) { try (300 as JSON).decode(UInt8.self) }
  }

  @Test func classesWriteWhatTheyInherit() throws {
    final class Inner: Base {
      override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Base.Keys.self)
        try container.encode(2, forKey: .second)
        try super.encode(to: encoder)
      }
    }
    #expect(try JSON(encoding: Inner()) == ["second": 2, "first": 1])
  }
}

/// A class that others inherit from.
private class Base: Encodable {
  enum Keys: String, CodingKey { case first, second }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(1, forKey: .first)
  }
}
