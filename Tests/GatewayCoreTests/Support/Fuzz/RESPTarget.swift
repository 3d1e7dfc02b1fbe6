@testable import GatewayCore

/// What a Redis server answers. The first byte chooses how far arrays are opened and how large a value may be, the second
/// the cuts. However it is cut, the same comes out, within the limits; what was opened is what the whole would have been;
/// and words that are written as a command are read as the same.
enum RESPTarget {
  private enum Piece: Equatable {
    case node(RESPNode)
    case text([UInt8])
    case value(isLast: Bool)
  }

  private struct Outcome: Equatable {
    var pieces: [Piece] = []
    var problem: RESPProblem?
    var isBetweenAnswers = true
    var answers = 0
  }

  static func problem(with input: [UInt8]) -> String? {
    guard input.count > 2 else { return nil }
    let depth = Int(input[0] & 7)
    let limits =
      input[0] & 8 == 0
      ? RESPReader.Limits() : RESPReader.Limits(bytes: Int(input[0] >> 4) * 16, nodes: Int(input[0] >> 4) + 1)
    let bytes = Array(input[2...])
    let whole = outcome([bytes], depth, limits)
    guard whole == outcome(bytes.map { [$0] }, depth, limits) else { return "the outcome differs byte by byte" }
    guard whole == outcome(cut(bytes, seed: input[1]), depth, limits) else { return "the outcome differs when cut" }
    if let problem = openedProblem(bytes, depth) { return problem }
    return commandProblem(bytes)
  }

  private static func outcome(_ pieces: [[UInt8]], _ depth: Int, _ limits: RESPReader.Limits) -> Outcome {
    let reader = RESPReader(limits: limits)
    var outcome = Outcome()
    do throws(RESPProblem) {
      for piece in pieces {
        try reader.receive(piece.span.bytes, opening: { depth }) { nodes, bytes, isLast in
          if nodes.count > limits.nodes || bytes.byteCount > limits.bytes { fatalError("a value is beyond the limits") }
          append(nodes, bytes, to: &outcome)
          outcome.pieces.append(.value(isLast: isLast))
          if isLast { outcome.answers += 1 }
          return true
        }
      }
    } catch { outcome.problem = error }
    outcome.isBetweenAnswers = reader.isBetweenAnswers
    return outcome
  }

  private static func append(_ nodes: [RESPNode], _ bytes: RawSpan, to outcome: inout Outcome) {
    for node in nodes {
      switch node {
      case .simple(let range), .error(let range), .bulk(let range):
        outcome.pieces.append(.text(bytes.extracting(range).withUnsafeBytes { [UInt8]($0) }))
        outcome.pieces.append(.node(kind(node)))
      case .integer, .null, .array: outcome.pieces.append(.node(node))
      }
    }
  }

  /// Without the place, which depends on how much is handed over at once.
  private static func kind(_ node: RESPNode) -> RESPNode {
    switch node {
    case .simple: .simple(0..<0)
    case .error: .error(0..<0)
    case .bulk: .bulk(0..<0)
    case .integer, .null, .array: node
    }
  }

  /// Opening leaves out heads of arrays and nothing else.
  private static func openedProblem(_ bytes: [UInt8], _ depth: Int) -> String? {
    let whole = outcome([bytes], 0, RESPReader.Limits())
    let opened = outcome([bytes], depth, RESPReader.Limits())
    guard whole.problem == nil, whole.isBetweenAnswers else { return nil }
    guard opened.problem == nil, opened.answers == whole.answers, opened.isBetweenAnswers else {
      return "an answer that is opened ends elsewhere"
    }
    return leaves(opened) == leaves(whole) ? nil : "an answer that is opened has other values"
  }

  private static func leaves(_ outcome: Outcome) -> [Piece] {
    outcome.pieces.filter {
      switch $0 {
      case .node(.array(let count)): count == 0
      case .node, .text: true
      case .value: false
      }
    }
  }

  private static func commandProblem(_ bytes: [UInt8]) -> String? {
    let words = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Array($0) }
    var writer = RESPWriter()
    writer.write("SET") { command in
      for word in words { command.append(word) }
      command.append(bytes.count)
    }
    let read = outcome([writer.bytes], 0, RESPReader.Limits())
    let expected = [Array("SET".utf8)] + words + [Array(String(bytes.count).utf8)]
    var pieces = [Piece.node(.array(expected.count))]
    for word in expected { pieces += [.text(word), .node(.bulk(0..<0))] }
    return read.pieces == pieces + [.value(isLast: true)] ? nil : "a command is read as another one"
  }

  private static func cut(_ bytes: [UInt8], seed: UInt8) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    var rest = bytes[...]
    var state = UInt32(seed) | 1
    while !rest.isEmpty {
      state = state &* 1_664_525 &+ 1_013_904_223
      let count = Int(state >> 24) % 13 + 1
      pieces.append(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    return pieces
  }
}
