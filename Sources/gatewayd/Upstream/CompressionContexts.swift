/// What all compressed links of one loop share: zlib's contexts, made when a first message needs them and used for one
/// whole message at a time, and the memory that its result stands in.
final class CompressionContexts {
  /// Where the last inflated message stands.
  private(set) var inflated = GrowingBuffer()
  /// Where the last deflated message stands.
  let deflated = GrowingBuffer()
  /// For servers whose messages refer to no earlier ones.
  private(set) lazy var inflater = Zlib.Inflater()

  /// A message takes several turns: others get a context and a buffer of their own meanwhile, where it uses these.
  func leaveInflater(_ used: Zlib.Inflater) {
    inflated = GrowingBuffer()
    if used === inflater { inflater = Zlib.Inflater() }
  }

  private var deflaters: [Int: Zlib.Deflater] = [:]

  /// The one context for windows of this size. Nil for a size that zlib does not have.
  func deflater(windowBits: Int) -> Zlib.Deflater? {
    if let deflater = deflaters[windowBits] { return deflater }
    guard Zlib.Deflater.windowBits.contains(windowBits) else { return nil }
    let deflater = Zlib.Deflater(windowBits: windowBits)
    deflaters[windowBits] = deflater
    return deflater
  }
}
