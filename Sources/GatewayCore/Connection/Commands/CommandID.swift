/// The id by which local programs know a command, globally unique. It is put into words when it is told, which
/// for most requests is never.
struct CommandID {
  /// All of it, or what stands before the number.
  private let words: String
  private let number: UInt64?

  /// An id that was put into words before.
  init(_ words: String) {
    self.words = words
    number = nil
  }

  /// A new one: `life` is different for each start of the daemon.
  init(life: String, number: UInt64) {
    words = life
    self.number = number
  }

  /// The number stands in base 36.
  var text: String {
    guard var rest = number else { return words }
    // Thirteen digits are the most that 64 bits can have.
    var digits = InlineArray<13, UInt8>(repeating: 0)
    var first = digits.count
    repeat {
      first &-= 1
      let digit = UInt8(truncatingIfNeeded: rest % 36)
      digits[first] = digit < 10 ? UInt8(ascii: "0") &+ digit : UInt8(ascii: "a") &+ digit &- 10
      rest /= 36
    } while rest != 0
    let number = digits.span.bytes.extracting(first..<digits.count)
    let words = words.utf8Span.span.bytes
    return withUnsafeTemporaryAllocation(byteCount: words.byteCount + number.byteCount, alignment: 1) { text in
      var writer = RawWriter(text, at: 0)
      writer.put(words)
      writer.put(number)
      return String(decoding: text, as: UTF8.self)
    }
  }

  /// Ids of sends of one host in the order of their acceptance: numbers grow from one process to the next.
  static func inOrder(_ ids: [String]) -> [String] { ids.map { Ordered($0) }.sorted().map(\.id) }

  /// An id of a send, in that order.
  struct Ordered: Comparable {
    let id: String
    /// Zero for what is no id of a send.
    private let number: UInt64

    init(_ id: String) {
      self.id = id
      let start = id.utf8.lastIndex(of: UInt8(ascii: "-")).map { id.utf8.index(after: $0) } ?? id.startIndex
      number = UInt64(id[start...], radix: 36) ?? 0
    }

    static func < (a: Ordered, b: Ordered) -> Bool { (a.number, a.id) < (b.number, b.id) }
  }
}
