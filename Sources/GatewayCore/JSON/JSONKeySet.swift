/// The keys of one object, to notice a second use of one. Keys are the texts they mean: escapes are decoded, and no
/// Unicode normalisation takes place.
struct JSONKeySet {
  private var keys: Set<[UInt8]> = []

  /// False if the key was there before. The range includes the quotes.
  mutating func insert(_ text: RawSpan, _ key: Range<Int>) -> Bool {
    keys.insert(JSONScanner.decodeBytes(text, key).bytes).inserted
  }
}
