/// The text of a long array or object that comes in pieces, checked as it comes, so that hardly anything is left to be
/// done when it is whole: the memory it was gathered in is what a call carries.
struct GatheredText {
  private(set) var bytes: [UInt8] = []
  private var progress: JSONProgress
  /// What `LocalForm` has looked at.
  private var looked = 0
  /// As far as was looked no string begins like a `$…bin` key.
  private var isPlain = true
  /// No escape is longer, nor the quote and the `$` before it: what stands closer to the end is looked at together with
  /// what comes behind it.
  private static let margin = 8

  /// `progress` is that of the value, whose text begins at its offset 0.
  init(_ progress: JSONProgress) { self.progress = progress }

  var count: Int { bytes.count }
  /// Nil as long as more has to come.
  var outcome: JSONProgress.Outcome? { progress.outcome }

  /// Makes room for so many bytes, which costs nothing before it is used, where growing would mean to copy.
  mutating func reserve(_ count: Int) { bytes.reserveCapacity(count) }

  /// Takes a piece. `uncertain`: how many of its last bytes may turn out not to belong to it. `limit`: more bytes than
  /// that will not come.
  mutating func append(_ piece: RawSpan, uncertain: Int = 0, limit: Int) {
    let wanted = bytes.count + piece.byteCount
    if let capacity = LineBuffer.growth.capacity(for: wanted, over: bytes.capacity, limit: limit) {
      bytes.reserveCapacity(capacity)
    }
    bytes.append(piece)
    bytes.withUnsafeBytes { text in
      progress.advance(text.bytes.extracting(0..<(text.count - uncertain)))
      let end = max(looked, text.count - Self.margin)
      if isPlain { isPlain = !LocalForm.mayBeginMark(text.bytes, looked..<end) }
      looked = end
    }
  }

  /// No more comes.
  mutating func end() {
    guard progress.outcome == nil else { return }
    bytes.withUnsafeBytes { progress.advance($0.bytes, isWhole: true) }
  }

  /// Takes what stands behind the value out of it.
  mutating func takeRest() -> [UInt8] {
    guard case .ended(let end) = progress.outcome, end < bytes.count else { return [] }
    defer { bytes.removeSubrange(end...) }
    return Array(bytes[end...])
  }

  mutating func removeLast() { bytes.removeLast() }

  /// The whole text, whose memory may wait in a queue, which counts what is used and not what is reserved; and whether
  /// no string in it begins like a `$…bin` key, which is not known when that is false.
  mutating func take() -> (text: [UInt8], isPlain: Bool) {
    defer { bytes = [] }
    let rest = max(0, min(looked, bytes.count) - 1)..<bytes.count
    isPlain = isPlain && bytes.withUnsafeBytes { !LocalForm.needsLook($0.bytes, rest) { _, _ in false } }
    guard bytes.capacity > bytes.count + bytes.count / 2 else { return (bytes, isPlain) }
    return (bytes.withUnsafeBytes { [UInt8]($0) }, isPlain)
  }
}
