import Testing

@testable import GatewayCore

/// What came out of a line buffer: the lines, and whether it gave up.
private struct Outcome: Equatable {
  var lines: [String] = []
  var tooLong = false
  var isEmpty = true
}

private func feed(_ chunks: [[UInt8]], limit: Int = 1_000) -> Outcome {
  var buffer = LineBuffer(limit: limit)
  var outcome = Outcome()
  do {
    for chunk in chunks {
      try buffer.append(chunk.span.bytes) { line in
        outcome.lines.append(line.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
      }
    }
    outcome.isEmpty = buffer.isEmpty
  } catch {
    outcome.tooLong = error == LineTooLong(limit: limit)
  }
  return outcome
}

private func feed(_ chunks: String..., limit: Int = 1_000) -> Outcome {
  feed(chunks.map { Array($0.utf8) }, limit: limit)
}

@Suite struct LineBufferTests {
  @Test func emptyLinesAreHandedOutToWhoeverCountsLines() throws {
    var buffer = LineBuffer(limit: 10, keepsEmptyLines: true)
    var lines: [String] = []
    for byte in Array("a\n\n\r\nb\n".utf8) {
      try buffer.append([byte].span.bytes) { line in
        lines.append(line.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
      }
    }
    #expect(lines == ["a", "", "", "b"])
  }

  @Test(arguments: [
    ("", [], true), ("a", [], false), ("a\n", ["a"], true), ("a\nb", ["a"], false), ("a\nb\n", ["a", "b"], true),
    ("\n", [], true), ("\n\n\n", [], true), ("\na\n\nb\n", ["a", "b"], true), ("\r\n", [], true), ("\r", [], false),
    ("a\r\n", ["a"], true), ("a\r\nb\r\n", ["a", "b"], true), ("a\r\r\n", ["a\r"], true), ("a\rb\n", ["a\rb"], true),
    ("0123456789abcdef\n0123456\n", ["0123456789abcdef", "0123456"], true), (" \n", [" "], true),
    ("\u{10a}\u{a0a}\n", ["\u{10a}\u{a0a}"], true), ("\n\r\n\r\n \n", [" "], true),
  ])
  func linesAreTheSameForEveryCut(_ text: String, _ lines: [String], _ isEmpty: Bool) {
    let bytes = Array(text.utf8)
    let expected = Outcome(lines: lines, isEmpty: isEmpty)
    #expect(feed([bytes]) == expected)
    #expect(feed(bytes.map { [$0] }) == expected)
    for first in 0...bytes.count {
      for second in first...bytes.count {
        #expect(feed([Array(bytes[..<first]), Array(bytes[first..<second]), Array(bytes[second...])]) == expected)
      }
    }
  }

  /// Limit 4: the lines that come out, and whether the limit was exceeded.
  @Test(arguments: [
    ("1234\n", ["1234"], false), ("1234\r\n", ["1234"], false), ("12345\n", [], true), ("12345\r\n", [], true),
    ("12345", [], true), ("1234", [], false), ("1234\r", [], false), ("1234\r5", [], true), ("1234\r\r\n", [], true),
    ("123\r\r\n", ["123\r"], false), ("ok\n12345\nno\n", ["ok"], true), ("ok\n12345", ["ok"], true),
    ("ok\n1234\nok\n", ["ok", "1234", "ok"], false), ("12345678901234567890\n", [], true),
    ("\r\r\r\r\r\n", ["\r\r\r\r"], false),
    ("\r\r\r\r\r\r\n", [], true),
  ])
  func theLimitIsTheSameForEveryCut(_ text: String, _ lines: [String], _ tooLong: Bool) {
    let bytes = Array(text.utf8)
    for first in 0...bytes.count {
      for second in first...bytes.count {
        let cut = [Array(bytes[..<first]), Array(bytes[first..<second]), Array(bytes[second...])]
        let outcome = feed(cut, limit: 4)
        #expect(outcome.lines == lines && outcome.tooLong == tooLong, "\(cut)")
      }
    }
  }

  @Test func anEndlessLineIsNoticedAtOnce() {
    #expect(feed("12345", limit: 4).tooLong)
    #expect(feed("1", "2", "3", "4", "5", limit: 4).tooLong)
    #expect(!feed("1", "2", "3", "4", limit: 4).tooLong)
  }

  @Test func aLineInsideTheChunkIsNotCopied() throws {
    var buffer = LineBuffer(limit: 100)
    let chunk = Array("first\nsecond\r\nrest".utf8)
    let start = chunk.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    var places: [UInt] = []
    try buffer.append(chunk.span.bytes) { line in
      places.append(line.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } - start)
    }
    #expect(places == [0, 6])
    #expect(!buffer.isEmpty)
  }

  @Test func aLongLineInManySmallChunksArrivesWhole() {
    let line = (0..<10_000).map { UInt8(ascii: "a") + UInt8($0 % 26) }
    let text = line + [UInt8(ascii: "\n")]
    let chunks = stride(from: 0, to: text.count, by: 7).map { Array(text[$0..<min($0 + 7, text.count)]) }
    #expect(feed(chunks, limit: 10_000) == Outcome(lines: [String(decoding: line, as: UTF8.self)]))
    #expect(feed(chunks, limit: 9_999).tooLong)
  }
}
