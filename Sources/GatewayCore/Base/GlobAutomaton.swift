/// A glob as an automaton that is in all its states at once, one bit each (Baeza-Yates and Gonnet, "A New Approach to
/// Text Searching", Shift-And): every byte of a name costs a few machine words, whatever the pattern. For patterns with
/// which going back would cost too much.
struct GlobAutomaton {
  /// Machine words of a state.
  private let words: Int
  /// How many elements other than `*` the pattern has; state n is that the first n of them were found.
  private let count: Int
  /// For each byte the states that it leads on from, `words` for each, those in front of a `?` not counted.
  private var onward: [UInt64]
  /// States in front of a `?`, from which every byte leads on that begins a character; `words`, and then as many
  /// zeroes.
  private var wild: [UInt64]
  /// The states that a byte leaves as they are: in front of a `*` every byte, and behind a `?` the rest of its
  /// character. `words` for bytes that begin a character, then those for the others.
  private var staying: [UInt64]

  init(_ pattern: Span<UInt8>) {
    words = Self.words(of: pattern.count)
    onward = [UInt64](repeating: 0, count: 256 * words)
    staying = [UInt64](repeating: 0, count: 2 * words)
    wild = staying
    var state = 0
    var at = 0
    while at < pattern.count {
      var byte = pattern[at]
      at += 1
      switch byte {
      case UInt8(ascii: "*"):
        for half in 0...1 { Self.mark(state, &staying, half * words) }
        continue
      case UInt8(ascii: "?"):
        Self.mark(state, &wild, 0)
        Self.mark(state + 1, &staying, words)
      case UInt8(ascii: "\\") where at < pattern.count:
        byte = pattern[at]
        at += 1
        Self.mark(state, &onward, Int(byte) * words)
      default: Self.mark(state, &onward, Int(byte) * words)
      }
      state += 1
    }
    count = state
  }

  /// Machine words of a state for a pattern of so many bytes: how often the time for one word is spent on each byte of
  /// a name.
  static func words(of length: Int) -> Int { length / 64 + 1 }

  private static func mark(_ state: Int, _ bits: inout [UInt64], _ start: Int) {
    bits[start + state / 64] |= 1 << UInt64(state % 64)
  }

  /// Whether the whole name fits.
  func matches(_ name: Span<UInt8>) -> Bool {
    guard words > 1 else { return matchesInOneWord(name) }
    var states = [UInt64](repeating: 0, count: words)
    states[0] = 1
    for index in name.indices {
      let byte = name[index]
      let onward = Int(byte) * words
      let half = UTF8.isContinuation(byte) ? words : 0
      var carry: UInt64 = 0
      for word in 0..<words {
        let found = states[word] & (self.onward[onward + word] | wild[half + word])
        states[word] = found << 1 | carry | states[word] & staying[half + word]
        carry = found >> 63
      }
    }
    return states[count / 64] & 1 << UInt64(count % 64) != 0
  }

  private func matchesInOneWord(_ name: Span<UInt8>) -> Bool {
    let onward = onward.span
    let (first, rest, wild) = (staying[0], staying[1], wild[0])
    var states: UInt64 = 1
    for index in name.indices {
      let byte = name[index]
      let isRest = UTF8.isContinuation(byte)
      let found = states & (onward[Int(byte)] | (isRest ? 0 : wild))
      states = found << 1 | states & (isRest ? rest : first)
      if states == 0 { return false }
    }
    return states & 1 << UInt64(count) != 0
  }
}
