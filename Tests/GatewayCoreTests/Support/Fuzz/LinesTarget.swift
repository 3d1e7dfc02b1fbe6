@testable import GatewayCore

/// A stream of bytes as a local client might send it. The first two bytes choose the limit and the cuts.
enum LinesTarget {
  private struct Outcome: Equatable {
    var lines: [[UInt8]] = []
    var tooLong = false
    var isEmpty = true
  }

  static func problem(with input: [UInt8]) -> String? {
    guard input.count > 2 else { return nil }
    // Small limits make long lines likely; the largest lets everything through.
    let limit = input[0] < 0x80 ? Int(input[0]) + 1 : 1 << 20
    let stream = Array(input[2...])
    let outcome = feed([stream], limit)
    guard outcome == expected(stream, limit) else { return "the lines are not those of the stream" }
    guard outcome == feed(stream.map { [$0] }, limit) else { return "the lines differ byte by byte" }
    guard outcome == feed(cut(stream, seed: input[1]), limit) else { return "the lines differ when cut" }
    for line in outcome.lines {
      if let problem = requestProblem(line) { return problem }
    }
    return longProblem(stream, outcome, limit, seed: input[1])
  }

  /// Lines that are taken apart while they come in are the same calls, and the same mistakes.
  private static func longProblem(_ stream: [UInt8], _ outcome: Outcome, _ limit: Int, seed: UInt8) -> String? {
    var buffer = RequestBuffer(limit: limit)
    var requests: [Result<LocalRequest, LocalRequestFailure>] = []
    var tooLong = false
    do {
      for chunk in cut(stream, seed: seed) {
        for piece in chunk.cutBehindLineEnds {
          try buffer.append(piece: piece.span.bytes, longFrom: Int(seed >> 2)) { requests.append(parse($0, $1)) }
        }
      }
      guard buffer.isEmpty == outcome.isEmpty else { return "a line that is taken apart leaves something behind" }
    } catch { tooLong = true }
    guard tooLong == outcome.tooLong else { return "a line that is taken apart has another limit" }
    let expected = outcome.lines.map { line in parse(line.span.bytes, nil) }
    return requests == expected ? nil : "a line that is taken apart is another call"
  }

  private static func parse(_ line: RawSpan, _ long: LongMember?) -> Result<LocalRequest, LocalRequestFailure> {
    do {
      return .success(try LocalRequest.parse(line, long: long))
    } catch { return .failure(error) }
  }

  private static func feed(_ chunks: [[UInt8]], _ limit: Int) -> Outcome {
    var buffer = LineBuffer(limit: limit)
    var outcome = Outcome()
    do {
      for chunk in chunks {
        try buffer.append(chunk.span.bytes) { line in outcome.lines.append(line.withUnsafeBytes { Array($0) }) }
      }
      outcome.isEmpty = buffer.isEmpty
    } catch { outcome.tooLong = true }
    return outcome
  }

  /// The same, said plainly.
  private static func expected(_ stream: [UInt8], _ limit: Int) -> Outcome {
    var outcome = Outcome()
    var rest = stream[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      var line = rest[..<end]
      if line.last == UInt8(ascii: "\r") { line.removeLast() }
      guard line.count <= limit else {
        outcome.tooLong = true
        return outcome
      }
      if !line.isEmpty { outcome.lines.append(Array(line)) }
      rest = rest[(end + 1)...]
    }
    let open = rest.last == UInt8(ascii: "\r") ? rest.count - 1 : rest.count
    outcome.tooLong = open > limit
    outcome.isEmpty = rest.isEmpty || outcome.tooLong
    return outcome
  }

  private static func cut(_ stream: [UInt8], seed: UInt8) -> [[UInt8]] {
    var chunks: [[UInt8]] = []
    var rest = stream[...]
    var state = UInt32(seed) | 1
    while !rest.isEmpty {
      state = state &* 1_664_525 &+ 1_013_904_223
      let count = Int(state >> 24) % 13 + 1
      chunks.append(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    return chunks
  }

  private static func requestProblem(_ line: [UInt8]) -> String? {
    var isJSON = true
    do { _ = try JSONScanner.validate(line.span.bytes) } catch { isJSON = false }
    let first = line.first { ![0x20, 0x09, 0x0d].contains($0) }
    let isBatch = first == UInt8(ascii: "[")
    do {
      let request = try LocalRequest.parse(line.span.bytes)
      guard isJSON, first == UInt8(ascii: "{") else { return "a line was understood that is no JSON object" }
      return requestProblem(request)
    } catch {
      guard (error.error.kind == .parseError) == (!isJSON && !isBatch) else { return "the wrong error was told" }
      guard error.answered || error.id == nil else { return "a call with an id would not be answered" }
      return replyProblem(LocalReply.error(error.id, error.error, limit: 1 << 20), error.id)
    }
  }

  private static func requestProblem(_ request: LocalRequest) -> String? {
    guard let id = request.id else { return nil }
    return replyProblem(
      LocalReply.result(id) { writer in
        writer.key("ok")
        writer.bool(true)
      }, id)
  }

  /// A reply is one line of JSON with the id as it was written.
  private static func replyProblem(_ line: [UInt8], _ id: RequestID?) -> String? {
    guard line.last == UInt8(ascii: "\n"), !line.dropLast().contains(UInt8(ascii: "\n")) else {
      return "a reply is not one line"
    }
    guard let reply = try? JSONValue.parse(line.span.bytes, limit: .max) else { return "a reply is no JSON" }
    var echo = JSONWriter()
    id?.write(into: &echo)
    let echoed = (try? JSONValue.parse(echo.bytes.span.bytes, limit: .max)) ?? .null
    return reply["id"] == echoed ? nil : "a reply has another id"
  }
}

extension [UInt8] {
  /// Pieces of which each ends with a line end, the last one perhaps without.
  var cutBehindLineEnds: [[UInt8]] {
    var pieces: [[UInt8]] = []
    var rest = self[...]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      pieces.append(Array(rest[...end]))
      rest = rest[(end + 1)...]
    }
    return rest.isEmpty ? pieces : pieces + [Array(rest)]
  }
}
