/// Puts together what a Redis server answers: bytes in, values out, the same for every way in which the bytes come. A
/// value is handed over with its nodes and the bytes in which their ranges stand; what lies whole within the bytes at
/// hand stays where it lies.
///
/// An array can be opened: then each of its elements is handed over as soon as it is there, so that of a stream's
/// thousand entries one is held at a time, and others get their turn between them. Decision 0128.
final class RESPReader {
  /// What one value may be.
  struct Limits: Sendable {
    /// Bytes of a value that is handed over, with all that is in it.
    var bytes = 64 << 20
    /// Values in it, itself included.
    var nodes = 64 << 10
  }

  /// How many levels of arrays an answer may have, those included that are opened: as many as `left` has room for.
  static let depthLimit = 8

  private let limits: Limits
  /// What came of a value that has not ended.
  private var pending: [UInt8] = []
  /// The nodes of that value so far.
  private var nodes: [RESPNode] = []
  /// Where the next node begins, counted from the beginning of the value.
  private var at = 0
  /// How much behind it has no line end.
  private var searched = 0
  /// How many elements of each array that has begun are still to come, the outermost first.
  private var left = InlineArray<8, Int>(repeating: 0)
  private var depth = 0
  /// How many of these arrays are opened.
  private var opened = 0
  /// How many the answer under way wants to have opened; nil between two answers.
  private var wanted: Int?
  private var isStopped = false

  /// Most bytes of memory that are kept for the next value.
  private static let spareLimit = 64 << 10

  init(limits: Limits = Limits()) { self.limits = limits }

  /// Bytes of the value that has not ended.
  var pendingCount: Int { pending.count }
  /// Nothing is under way.
  var isBetweenAnswers: Bool { wanted == nil && pending.isEmpty }

  /// Takes bytes from the server, and hands over each value that they complete. The bytes are valid during the call.
  ///
  /// - Parameters:
  ///   - opening: is asked at the first byte of each answer how many levels of its arrays are opened: 0 hands over the
  ///     whole answer as one value, 2 the elements of its elements. An empty array and null are handed over on any
  ///     level.
  ///   - body: is given a value, and whether it is the answer's last one; says whether it wants more. Where it does not,
  ///     nothing more is ever handed over.
  func receive(
    _ bytes: RawSpan, opening: () -> Int, _ body: ([RESPNode], RawSpan, _ isLast: Bool) -> Bool
  ) throws(RESPProblem) {
    guard !isStopped else { return }
    do throws(RESPProblem) { try take(bytes, opening, body) } catch {
      isStopped = true
      throw error
    }
  }

  private func take(
    _ bytes: RawSpan, _ opening: () -> Int, _ body: ([RESPNode], RawSpan, Bool) -> Bool
  ) throws(RESPProblem) {
    guard !pending.isEmpty else {
      let used = try read(bytes, opening, body)
      return keep(bytes.extracting(used..<bytes.byteCount))
    }
    var whole = pending
    pending = []
    whole.append(bytes)
    let used = try read(whole.span.bytes, opening, body)
    // Memory that a long value took goes with it.
    guard used == 0 || whole.capacity <= Self.spareLimit else {
      return keep(whole.span.bytes.extracting(used..<whole.count))
    }
    whole.removeSubrange(0..<used)
    pending = whole
  }

  private func keep(_ rest: RawSpan) {
    if rest.byteCount > 0 { pending.append(rest) }
  }

  /// Hands over what is complete; returns where the value begins that is not.
  private func read(
    _ bytes: RawSpan, _ opening: () -> Int, _ body: ([RESPNode], RawSpan, Bool) -> Bool
  ) throws(RESPProblem) -> Int {
    var rest = bytes
    while at < rest.byteCount {
      if wanted == nil { wanted = opening() }
      let node = try RESPScanner.next(rest, &at, searched: &searched, limit: limits.bytes)
      guard let node else { break }
      guard at <= limits.bytes else { throw .tooLong(limit: limits.bytes) }
      if case .array(let count) = node, count > 0 {
        if try begin(node, count) {
          rest = rest.extracting(at..<rest.byteCount)
          at = 0
        }
        continue
      }
      try append(node)
      guard endsValue() else { continue }
      let isLast = endsAnswer()
      if isLast { wanted = nil }
      let end = at
      at = 0
      guard body(nodes, rest.extracting(0..<end), isLast) else {
        isStopped = true
        return bytes.byteCount
      }
      nodes.removeAll(keepingCapacity: true)
      rest = rest.extracting(end..<rest.byteCount)
    }
    return bytes.byteCount &- rest.byteCount
  }

  /// An array that has elements. True where it is opened, so that a value begins behind its head.
  private func begin(_ array: RESPNode, _ count: Int) throws(RESPProblem) -> Bool {
    guard depth < Self.depthLimit else { throw .tooDeep(limit: Self.depthLimit) }
    let isOpened = depth == opened && opened < wanted ?? 0
    if isOpened {
      opened &+= 1
    } else {
      guard count < limits.nodes else { throw .tooMany(limit: limits.nodes) }
      try append(array)
    }
    left[depth] = count
    depth &+= 1
    return isOpened
  }

  private func append(_ node: RESPNode) throws(RESPProblem) {
    guard nodes.count < limits.nodes else { throw .tooMany(limit: limits.nodes) }
    nodes.append(node)
  }

  /// Something is complete, and with it perhaps the value that it is in.
  private func endsValue() -> Bool {
    while depth > opened { if !endsArray() { return false } }
    return true
  }

  /// A value is complete, and with it perhaps the answer.
  private func endsAnswer() -> Bool {
    while depth > 0 {
      guard endsArray() else { return false }
      opened = depth
    }
    return true
  }

  /// The innermost array has one element more; true where it was the last.
  private func endsArray() -> Bool {
    left[depth &- 1] &-= 1
    guard left[depth &- 1] == 0 else { return false }
    depth &-= 1
    return true
  }
}
