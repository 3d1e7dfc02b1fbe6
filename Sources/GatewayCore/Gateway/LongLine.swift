/// A line of a local client that has become long and whose end has not come yet. The `args` or `kwargs` that make it
/// long are gathered by themselves and checked as they come, so that at the end of the line hardly anything is left to
/// be done: the memory they were gathered in is what the call carries, and the rest of the line is short.
final class LongLine {
  /// The line without the long member.
  private var line: [UInt8]
  private let place: Int
  private var text: [UInt8]
  private var progress: JSONProgress
  /// What `LocalForm` has looked at.
  private var looked = 0
  private var isPlain = true
  /// Bytes behind a mistake, which are not read.
  private var unread = 0
  private var last: UInt8 = 0
  private let limit: Int

  /// Takes the beginning of a line apart. Nil where no `args` or `kwargs` reach its end: such a line is read as one.
  init?(_ start: [UInt8], limit: Int) {
    let known = start.last == UInt8(ascii: "\r") ? start.count - 1 : start.count
    guard let (place, progress) = Self.openMember(start.span.bytes.extracting(0..<known)) else { return nil }
    self.place = place
    self.progress = progress
    self.limit = limit
    let isObject = start[place] == UInt8(ascii: "{")
    line = start[..<place] + Array((isObject ? "{}" : "[]").utf8)
    text = []
    makeRoom(start.count - place)
    text += start[place...]
    last = start.last ?? 0
    check()
  }

  private var count: Int { line.count - LongMember.standIn + text.count + unread }

  /// What came of it, as it came.
  var received: [UInt8] { line[..<place] + text + line[(place + LongMember.standIn)...] }

  /// Bytes that are kept of it.
  var heldCount: Int { line.count + text.count }

  /// Takes more of the line, or the rest of it without its end.
  func append(_ piece: RawSpan) throws(LineTooLong) {
    guard piece.byteCount > 0 else { return }
    let excess = count + piece.byteCount - limit
    // One byte beyond the limit may still be the `\r` of the line end.
    guard excess <= 1 else { throw LineTooLong(limit: limit) }
    last = JSONScanner.byte(piece, piece.byteCount - 1)
    guard excess < 1 || last == UInt8(ascii: "\r") else { throw LineTooLong(limit: limit) }
    switch progress.outcome {
    case .ended: line.append(piece)
    case .broken: unread += piece.byteCount
    case nil:
      makeRoom(text.count + piece.byteCount)
      text.append(piece)
      check()
    }
  }

  /// Hands the line out, whose end was found.
  func finish(_ body: (RawSpan, LongMember?) -> Void) throws(LineTooLong) {
    if last == UInt8(ascii: "\r") { dropLast() }
    guard count <= limit else { throw LineTooLong(limit: limit) }
    if progress.outcome == nil {
      text.withUnsafeBytes { progress.advance($0.bytes, isWhole: true) }
      settle()
    }
    // What is carried may wait in a queue, which counts what is used and not what is reserved.
    if text.capacity > text.count + text.count / 2 { text = text.withUnsafeBytes { [UInt8]($0) } }
    var problem: JSONError?
    if case .broken(let error) = progress.outcome { problem = error }
    let member = LongMember(place: place, text: text, isPlain: isPlain, problem: problem)
    text = []
    line.withUnsafeBytes { body($0.bytes, member) }
  }

  private func dropLast() {
    switch progress.outcome {
    case .ended: line.removeLast()
    case .broken: unread -= 1
    case nil: text.removeLast()
    }
  }

  private func check() {
    text.withUnsafeBytes { text in
      // It may belong to the line end.
      let known = last == UInt8(ascii: "\r") ? text.count - 1 : text.count
      progress.advance(text.bytes.extracting(0..<known))
      if isPlain { isPlain = !LocalForm.mayBeginMark(text.bytes, looked..<text.count) }
    }
    looked = text.count
    settle()
  }

  /// What stands behind the member belongs to the line.
  private func settle() {
    guard case .ended(let end) = progress.outcome, end < text.count else { return }
    line += text[end...]
    text.removeSubrange(end...)
  }

  private func makeRoom(_ count: Int) {
    if let capacity = LineBuffer.growth.capacity(for: count, over: text.capacity, limit: limit &+ 1) {
      text.reserveCapacity(capacity)
    }
  }

  /// Where the `args` or `kwargs` begin within which the text ends, and how far they are checked; nil where it ends
  /// elsewhere, or is not as it should be.
  private static func openMember(_ text: RawSpan) -> (place: Int, JSONProgress)? {
    var at = 0
    JSONScanner.skipWhitespace(text, &at)
    guard JSONScanner.byte(text, at) == UInt8(ascii: "{"),
      JSONScanner.openContainer(text, &at, end: UInt8(ascii: "}"))
    else { return nil }
    do throws(JSONError) {
      repeat {
        let key = try JSONScanner.scanKey(text, &at)
        if JSONScanner.byte(text, at) == UInt8(ascii: "{"), JSONScanner.stringEquals(text, key, "params") {
          return try openMember(text, ofParams: &at)
        }
        _ = try JSONScanner.scanValue(text, &at, depth: JSONScanner.depthLimit - 1)
      } while try JSONScanner.stepToNext(text, &at, end: UInt8(ascii: "}"))
    } catch {}
    return nil
  }

  private static func openMember(
    _ text: RawSpan, ofParams at: inout Int
  ) throws(JSONError) -> (place: Int, JSONProgress)? {
    guard JSONScanner.openContainer(text, &at, end: UInt8(ascii: "}")) else { return nil }
    repeat {
      let key = try JSONScanner.scanKey(text, &at)
      guard isCarried(text, key, at) else {
        _ = try JSONScanner.scanValue(text, &at, depth: JSONScanner.depthLimit - 2)
        continue
      }
      // The line around it has two levels.
      var progress = JSONProgress(from: 0, depth: JSONScanner.depthLimit - 2)
      progress.advance(text.extracting(at..<text.byteCount))
      guard case .ended(let end) = progress.outcome else { return (at, progress) }
      at += end
    } while try JSONScanner.stepToNext(text, &at, end: UInt8(ascii: "}"))
    return nil
  }

  /// Whether a param is one whose text is carried as it is.
  private static func isCarried(_ text: RawSpan, _ key: Range<Int>, _ value: Int) -> Bool {
    switch JSONScanner.byte(text, value) {
    case UInt8(ascii: "["): JSONScanner.stringEquals(text, key, "args")
    case UInt8(ascii: "{"): JSONScanner.stringEquals(text, key, "kwargs")
    default: false
    }
  }
}
