/// An object whose members are read when they are asked for, out of the text that it came in.
struct RawObject: Sendable, Equatable {
  /// The text of the line that holds it, and where its values stand in there.
  private let text: [UInt8]
  private let places: [String: Range<Int>]

  /// Of several members with one name the first counts. Throws where the text is not one object.
  init(_ text: [UInt8]) throws(JSONReader.Failure) {
    var reader = JSONReader(text, depthLimit: JSONReader.answerDepthLimit)
    let found = try reader.places()
    try reader.finish()
    self.init(text, found)
  }

  private init(_ text: [UInt8], _ found: [(key: String, place: Range<Int>)]) {
    self.text = text
    places = Dictionary(found.map { ($0.key, $0.place) }, uniquingKeysWith: { first, _ in first })
  }

  func has(_ key: String) -> Bool { places[key] != nil }

  /// The text of a member.
  func text(_ key: String) -> [UInt8]? { places[key].map { Array(text[$0]) } }

  func json(_ key: String, form: JSONReader.Form = .plain) -> JSON? {
    places[key].flatMap {
      try? JSONReader.value(of: text, range: $0, form: form, depthLimit: JSONReader.answerDepthLimit)
    }
  }

  func string(_ key: String) -> String? { json(key)?.string }
  func bool(_ key: String) -> Bool? { json(key)?.bool }
  func int(_ key: String) -> Int? { json(key)?.int }

  /// A member that is an object.
  func object(_ key: String) -> RawObject? {
    guard let place = places[key] else { return nil }
    var reader = JSONReader(text, range: place, depthLimit: JSONReader.answerDepthLimit)
    return (try? reader.places()).map { RawObject(text, $0) }
  }

  /// A member that is an array of objects.
  func objects(_ key: String) -> [RawObject]? {
    guard let place = places[key] else { return nil }
    var reader = JSONReader(text, range: place, depthLimit: JSONReader.answerDepthLimit)
    return (try? reader.objects()).map { found in found.map { RawObject(text, $0) } }
  }

  /// All of it.
  var json: JSON {
    let members = places.sorted { $0.value.lowerBound < $1.value.lowerBound }.compactMap { key, _ in
      json(key).map { JSON.Member(key, $0) }
    }
    return .object(members)
  }
}
