/// Guesses what a person meant who wrote a name that does not exist.
public enum NearestName {
  /// Longer names are not compared: the cost grows with the product of both lengths.
  private static let lengthLimit = 64

  /// The candidate that differs least from `name`, if few enough letters have to be changed (a third of them, and at
  /// least one) to be a likely slip. Upper and lower case, and `-` and `_`, count as the same letter.
  public static func of(_ name: String, among candidates: some Sequence<String>) -> String? {
    guard name.utf8.count <= lengthLimit else { return nil }
    let wanted = folded(name)
    let allowed = max(1, wanted.count / 3)
    var best: (distance: Int, candidate: String)?
    for candidate in candidates where abs(candidate.utf8.count - wanted.count) <= allowed {
      let distance = distance(wanted, folded(candidate))
      if distance <= allowed, distance < best?.distance ?? .max { best = (distance, candidate) }
    }
    return best?.candidate
  }

  private static func folded(_ name: String) -> [UInt8] {
    name.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
      case UInt8(ascii: "-"): UInt8(ascii: "_")
      default: byte
      }
    }
  }

  /// The number of insertions, deletions, replacements and swaps of neighbours that make one name of the other.
  private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var beforeLast = [Int](repeating: 0, count: b.count + 1)
    var last = Array(0...b.count)
    var row = last
    for i in a.indices {
      row[0] = i + 1
      for j in b.indices {
        var least = min(last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1)
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, beforeLast[j - 1] + 1) }
        row[j + 1] = least
      }
      (beforeLast, last, row) = (last, row, beforeLast)
    }
    return last[b.count]
  }
}
