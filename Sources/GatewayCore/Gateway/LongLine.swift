/// A line of a local client that has become long and whose end has not come yet. The `args` or `kwargs` that make it
/// long are gathered by themselves and checked as they come, so that at the end of the line hardly anything is left to
/// be done: the memory they were gathered in is what the call carries, and the rest of the line is short.
final class LongLine {
  /// The line without the long member.
  private var line: [UInt8]
  private let place: Int
  private var text: GatheredText
  /// Bytes behind a mistake, which are not read.
  private var unread = 0
  private var last: UInt8 = 0
  private let limit: Int

  /// Takes the beginning of a line apart. Nil where no `args` or `kwargs` reach its end: such a line is read as one.
  init?(_ start: [UInt8], limit: Int) {
    let known = start.last == UInt8(ascii: "\r") ? start.count - 1 : start.count
    guard let (place, progress) = Self.openMember(start.span.bytes.extracting(0..<known)) else { return nil }
    self.place = place
    text = GatheredText(progress)
    self.limit = limit
    let isObject = start[place] == UInt8(ascii: "{")
    line = start[..<place] + Array((isObject ? "{}" : "[]").utf8)
    last = start.last ?? 0
    append(toText: start.span.bytes.extracting(place..<start.count))
  }

  private var count: Int { line.count - LongMember.standIn + text.count + unread }

  /// What came of it, as it came.
  var received: [UInt8] { line[..<place] + text.bytes + line[(place + LongMember.standIn)...] }

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
    switch text.outcome {
    case .ended: line.append(piece)
    case .broken: unread += piece.byteCount
    case nil: append(toText: piece)
    }
  }

  /// Hands the line out, whose end was found.
  func finish(_ body: (RawSpan, LongMember?) -> Void) throws(LineTooLong) {
    if last == UInt8(ascii: "\r") { dropLast() }
    guard count <= limit else { throw LineTooLong(limit: limit) }
    text.end()
    line += text.takeRest()
    var problem: JSONError?
    if case .broken(let error) = text.outcome { problem = error }
    let (whole, isPlain) = text.take()
    let member = LongMember(place: place, text: whole, isPlain: isPlain, problem: problem)
    line.withUnsafeBytes { body($0.bytes, member) }
  }

  private func dropLast() {
    switch text.outcome {
    case .ended: line.removeLast()
    case .broken: unread -= 1
    case nil: text.removeLast()
    }
  }

  private func append(toText piece: RawSpan) {
    // A last `\r` may belong to the line end.
    text.append(piece, uncertain: last == UInt8(ascii: "\r") ? 1 : 0, limit: limit &+ 1)
    // What stands behind the member belongs to the line.
    line += text.takeRest()
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
