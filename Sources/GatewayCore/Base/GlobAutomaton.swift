/// A glob as an automaton that is in all its states at once, one bit each (Baeza-Yates and Gonnet, "A New Approach to Text
/// Searching", Shift-And): every byte of a name costs a few machine words, whatever the pattern. For patterns with which
/// going back would cost too much.
struct GlobAutomaton {
  /// Machine words of a state.
  private let words: Int
  /// How many elements other than `*` the pattern has; state n is that the first n of them were found.
  private let count: Int
  /// For each byte the states that it leads on from, `words` for each.
  private var literals: [UInt64]
  /// States in front of a `?`.
  private var wild: [UInt64]
  /// States behind a `?`, which take the rest of its character.
  private var behindWild: [UInt64]
  /// States in front of a `*`, which take anything.
  private var stars: [UInt64]

  init(_ pattern: Span<UInt8>) {
    words = pattern.count / 64 + 1
    literals = [UInt64](repeating: 0, count: 256 * words)
    wild = [UInt64](repeating: 0, count: words)
    behindWild = wild
    stars = wild
    var state = 0
    var at = 0
    while at < pattern.count {
      var byte = pattern[at]
      at += 1
      switch byte {
      case UInt8(ascii: "*"):
        Self.mark(state, &stars, 0)
        continue
      case UInt8(ascii: "?"):
        Self.mark(state, &wild, 0)
        Self.mark(state + 1, &behindWild, 0)
      case UInt8(ascii: "\\") where at < pattern.count:
        byte = pattern[at]
        at += 1
        Self.mark(state, &literals, Int(byte) * words)
      default: Self.mark(state, &literals, Int(byte) * words)
      }
      state += 1
    }
    count = state
  }

  private static func mark(_ state: Int, _ bits: inout [UInt64], _ start: Int) {
    bits[start + state / 64] |= 1 << UInt64(state % 64)
  }

  /// Whether the whole name fits.
  func matches(_ name: Span<UInt8>) -> Bool {
    var states = [UInt64](repeating: 0, count: words)
    states[0] = 1
    for index in name.indices {
      let byte = name[index]
      let beginsCharacter = !UTF8.isContinuation(byte)
      var carry: UInt64 = 0
      for word in 0..<words {
        let now = states[word]
        let onward = now & (literals[Int(byte) * words + word] | (beginsCharacter ? wild[word] : 0))
        let staying = now & (stars[word] | (beginsCharacter ? 0 : behindWild[word]))
        states[word] = onward << 1 | carry | staying
        carry = onward >> 63
      }
    }
    return states[count / 64] & 1 << UInt64(count % 64) != 0
  }
}
