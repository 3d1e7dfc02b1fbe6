/// The keys of one object, to notice a second use of one. Keys are the texts they mean: escapes are decoded, and no
/// Unicode normalisation takes place.
struct JSONKeySet {
  /// What became of a key.
  enum Insertion {
    case isNew
    case isRepeated
    /// It was not looked at: there are `limit` others.
    case isTooMany
  }

  /// Most keys of one object: remembering each costs more than reading over it.
  static let limit = 64

  private var keys: Set<[UInt8]> = []

  /// The range includes the quotes.
  mutating func insert(_ text: RawSpan, _ key: Range<Int>) -> Insertion {
    guard keys.count < Self.limit else { return .isTooMany }
    return keys.insert(JSONScanner.decodeBytes(text, key).bytes).inserted ? .isNew : .isRepeated
  }
}
