import Testing

@testable import GatewayCore

/// What was handed over, as text: texts in quotes, `!` before errors, `null`, arrays in brackets, `.` behind an answer, `~`
/// behind a value that is not its answer's last; and at the end what was wrong.
private func read(
  _ pieces: [[UInt8]], opening: Int = 0, limits: RESPReader.Limits = RESPReader.Limits()
) -> String {
  let reader = RESPReader(limits: limits)
  var shown: [String] = []
  for piece in pieces {
    do throws(RESPProblem) {
      try reader.receive(piece.span.bytes, opening: { opening }) { nodes, bytes, isLast in
        var rest = nodes[...]
        shown.append(show(&rest, bytes) + (isLast ? "." : "~") + (rest.isEmpty ? "" : "REST"))
        return true
      }
    } catch {
      shown.append("\(error)")
      break
    }
  }
  return shown.joined(separator: " ")
}

private func show(_ nodes: inout ArraySlice<RESPNode>, _ bytes: RawSpan) -> String {
  func text(_ range: Range<Int>) -> String {
    bytes.extracting(range).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }
  switch nodes.popFirst() {
  case nil: return "nothing"
  case .simple(let range): return text(range)
  case .error(let range): return "!" + text(range)
  case .integer(let value): return String(value)
  case .bulk(let range): return "“\(text(range))”"
  case .null: return "null"
  case .array(let count): return "[" + (0..<count).map { _ in show(&nodes, bytes) }.joined(separator: " ") + "]"
  }
}

/// The same for the whole input and for every way of cutting it in two, and byte by byte.
private func readCut(
  _ text: String, opening: Int = 0, limits: RESPReader.Limits = RESPReader.Limits()
) -> String {
  let bytes = Array(text.utf8)
  let whole = read([bytes], opening: opening, limits: limits)
  for cut in 0...bytes.count {
    #expect(read([Array(bytes[..<cut]), Array(bytes[cut...])], opening: opening, limits: limits) == whole, "\(cut)")
  }
  #expect(read(bytes.map { [$0] }, opening: opening, limits: limits) == whole)
  return whole
}

private let stream =
  "*2\r\n*2\r\n$2\r\nev\r\n*2\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\na\r\n$1\r\nx\r\n*2\r\n$3\r\n1-2\r\n*0\r\n"
  + "*2\r\n$2\r\nre\r\n*1\r\n*2\r\n$3\r\n1-3\r\n*2\r\n$1\r\nk\r\n$-1\r\n"

@Suite struct RESPReaderTests {
  @Test(arguments: [
    ("+OK\r\n", "OK."), ("+\r\n", "."), ("-ERR no such thing\r\n", "!ERR no such thing."),
    (":0\r\n", "0."), (":-7\r\n", "-7."), (":+7\r\n", "7."), (":0000000000000000007\r\n", "7."),
    (":9223372036854775807\r\n", "9223372036854775807."), (":-9223372036854775808\r\n", "-9223372036854775808."),
    ("$0\r\n\r\n", "“”."), ("$5\r\na\r\nb \r\n", "“a\r\nb ”."), ("$-1\r\n", "null."), ("*-1\r\n", "null."),
    ("*0\r\n", "[]."), ("*3\r\n:1\r\n$1\r\na\r\n+b\r\n", "[1 “a” b]."),
    ("*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n*1\r\n-x\r\n", "[[1 []] [[!x]]]."),
    ("+a\r\n:1\r\n$1\r\nx\r\n*1\r\n+b\r\n-c\r\n", "a. 1. “x”. [b]. !c."),
    // What has not ended is not told.
    ("+OK\r\n+OK\r", "OK."), ("$5\r\nabcde\r", ""), ("*2\r\n:1\r\n", ""),
  ])
  func valuesAreTheSameHoweverTheyAreCut(bytes: String, values: String) {
    #expect(readCut(bytes) == values)
  }

  @Test(arguments: [
    (0, "[[“ev” [[“1-1” [“a” “x”]] [“1-2” []]]] [“re” [[“1-3” [“k” null]]]]]."),
    (1, "[“ev” [[“1-1” [“a” “x”]] [“1-2” []]]]~ [“re” [[“1-3” [“k” null]]]]."),
    (2, "“ev”~ [[“1-1” [“a” “x”]] [“1-2” []]]~ “re”~ [[“1-3” [“k” null]]]."),
    (3, "“ev”~ [“1-1” [“a” “x”]]~ [“1-2” []]~ “re”~ [“1-3” [“k” null]]."),
    (4, "“ev”~ “1-1”~ [“a” “x”]~ “1-2”~ []~ “re”~ “1-3”~ [“k” null]."),
    (5, "“ev”~ “1-1”~ “a”~ “x”~ “1-2”~ []~ “re”~ “1-3”~ “k”~ null."),
    (9, "“ev”~ “1-1”~ “a”~ “x”~ “1-2”~ []~ “re”~ “1-3”~ “k”~ null."),
  ])
  func theElementsOfOpenedArraysAreHandedOverOneByOne(levels: Int, values: String) {
    #expect(readCut(stream, opening: levels) == values)
  }

  @Test func whatIsNoArrayIsHandedOverAsItIs() {
    #expect(
      readCut("*-1\r\n-READONLY no\r\n*0\r\n$1\r\na\r\n*1\r\n*1\r\n:1\r\n", opening: 2)
        == "null. !READONLY no. []. “a”. 1.")
  }

  @Test func howFarAnAnswerIsOpenedIsAskedOnceForEach() throws {
    let reader = RESPReader()
    var levels = [0, 1, 0]
    var shown: [String] = []
    for byte in "*1\r\n+a\r\n*2\r\n+b\r\n+c\r\n*1\r\n+d\r\n".utf8 {
      try reader.receive([byte].span.bytes, opening: { levels.removeFirst() }) { nodes, bytes, _ in
        var rest = nodes[...]
        shown.append(show(&rest, bytes))
        return true
      }
    }
    #expect(shown == ["[a]", "b", "c", "[d]"])
    #expect(levels.isEmpty)
    #expect(reader.isBetweenAnswers)
  }

  @Test(arguments: [
    ("HTTP/1.1 400 Bad Request\r\n", RESPProblem.unknownType(UInt8(ascii: "H"))),
    ("_\r\n", .unknownType(UInt8(ascii: "_"))),
    ("\u{15}\r\n", .unknownType(0x15)), ("*1\r\n\r\n", .unknownType(13)),
    (":\r\n", .malformedNumber), (":-\r\n", .malformedNumber), (":1x\r\n", .malformedNumber),
    (": 1\r\n", .malformedNumber),
    (":9223372036854775808\r\n", .malformedNumber), (":-9223372036854775809\r\n", .malformedNumber),
    (":00000000000000000007\r\n", .malformedNumber), ("$-2\r\n", .malformedNumber), ("*-2\r\n", .malformedNumber),
    ("$x\r\n", .malformedNumber), (":1\n", .malformedNumber), (":1\rx", .noLineEnd), ("+OK\n", .noLineEnd),
    ("+\n", .noLineEnd),
    ("$1\r\nab\r\n", .noLineEnd), ("$1\r\na\n\n", .noLineEnd), ("*3000000000\r\n", .tooMany(limit: 2_147_483_647)),
    ("$99999999999\r\n", .tooLong(limit: 64 << 20)), ("*65536\r\n", .tooMany(limit: 65_536)),
    ("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", .tooDeep(limit: 8)),
  ])
  func whatIsNoAnswerEndsTheReading(bytes: String, problem: RESPProblem) {
    #expect(readCut("+first\r\n" + bytes + "+last\r\n") == "first. \(problem)")
  }

  @Test func aProblemIsASentence() {
    #expect(
      "\(RESPProblem.unknownType(UInt8(ascii: "H")))"
        == "sent “H” where a value of RESP has to begin, so it may be no Redis server")
    #expect("\(RESPProblem.unknownType(0x15))".hasPrefix("sent the byte 21 where"))
    #expect("\(RESPProblem.tooLong(limit: 9))" == "sent more than 9 bytes for one value")
  }

  @Test func aValueIsBounded() {
    let limits = RESPReader.Limits(bytes: 20, nodes: 4)
    #expect(readCut("$14\r\n12345678901234\r\n", limits: limits) == "\(RESPProblem.tooLong(limit: 20))")
    #expect(readCut("$13\r\n1234567890123\r\n", limits: limits) == "“1234567890123”.")
    #expect(readCut("*2\r\n$4\r\nabcd\r\n$4\r\nabcd\r\n", limits: limits) == "\(RESPProblem.tooLong(limit: 20))")
    #expect(readCut("*2\r\n$4\r\nabcd\r\n$4\r\nabcd\r\n", opening: 1, limits: limits) == "“abcd”~ “abcd”.")
    #expect(readCut("*3\r\n:1\r\n:2\r\n:3\r\n", limits: limits) == "[1 2 3].")
    #expect(readCut("*2\r\n*1\r\n:2\r\n*0\r\n", limits: limits) == "[[2] []].")
    #expect(readCut("*2\r\n*2\r\n:2\r\n:3\r\n:4\r\n", limits: limits) == "\(RESPProblem.tooMany(limit: 4))")
    #expect(readCut("*5\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n", opening: 1, limits: limits) == "1~ 2~ 3~ 4~ 5.")
  }

  @Test func aLineIsBounded() {
    let longest = String(repeating: "x", count: RESPScanner.lineLimit)
    #expect(read([Array("+\(longest.dropLast())\r\n".utf8)]) == longest.dropLast() + ".")
    let problem = "\(RESPProblem.tooLong(limit: RESPScanner.lineLimit))"
    #expect(read([Array("-x\(longest)\r\n".utf8)]) == problem)
    #expect(read(Array("-x\(longest)".utf8).map { [$0] }) == problem)
  }

  @Test func whoWantsNoMoreHearsNoMore() throws {
    let reader = RESPReader()
    var count = 0
    let bytes = Array("+a\r\n+b\r\n+c\r\n".utf8)
    for _ in 0..<2 {
      try reader.receive(bytes.span.bytes, opening: { 0 }) { _, _, _ in
        count += 1
        return count < 2
      }
    }
    #expect(count == 2)
    #expect(reader.pendingCount == 0)
  }

  @Test func afterAProblemNothingIsRead() throws {
    let reader = RESPReader()
    var count = 0
    #expect(throws: RESPProblem.unknownType(UInt8(ascii: "x"))) {
      try reader.receive(Array("+a\r\nx".utf8).span.bytes, opening: { 0 }) { _, _, _ in
        count += 1
        return true
      }
    }
    try reader.receive(Array("+b\r\n".utf8).span.bytes, opening: { 0 }) { _, _, _ in
      count += 1
      return true
    }
    #expect(count == 1)
  }

  /// Elements of an opened array leave nothing behind.
  @Test func ofALongAnswerOneElementIsHeldAtATime() throws {
    let reader = RESPReader(limits: RESPReader.Limits(bytes: 1 << 10, nodes: 16))
    var (count, lasts, wrong, most) = (0, 0, 0, 0)
    var bytes = Array("*100000\r\n".utf8)
    for number in 0..<100_000 { bytes += Array("*2\r\n$6\r\n\(100_000 + number)\r\n:\(number)\r\n".utf8) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = Array(rest.prefix(4_096))
      rest = rest.dropFirst(piece.count)
      try reader.receive(piece.span.bytes, opening: { 1 }) { nodes, _, isLast in
        if nodes.last != .integer(Int64(count)) { wrong += 1 }
        if isLast { lasts += 1 }
        count += 1
        return true
      }
      most = max(most, reader.pendingCount)
    }
    #expect([count, lasts, wrong] == [100_000, 1, 0])
    #expect(most < 40)
    #expect(reader.isBetweenAnswers)
  }
}
