import Testing

@testable import GatewayCore

@Suite struct RequestBufferTests {
  private typealias Parsed = Result<LocalRequest, LocalRequestFailure>

  private static func parse(_ line: RawSpan, _ long: LongMember?) -> Parsed {
    do {
      return .success(try LocalRequest.parse(line, long: long))
    } catch { return .failure(error) }
  }

  /// What comes out of a stream that comes in pieces of a size, with how many long members were taken out.
  private static func feed(
    _ stream: String, piece: Int, longFrom: Int, limit: Int = 10_000
  ) -> (requests: [Parsed], long: Int, tooLong: Bool) {
    var buffer = RequestBuffer(limit: limit)
    var result: (requests: [Parsed], long: Int, tooLong: Bool) = ([], 0, false)
    var rest = Array(stream.utf8)[...]
    do {
      while !rest.isEmpty {
        let chunk = Array(rest.prefix(piece))
        rest = rest.dropFirst(piece)
        for piece in chunk.cutBehindLineEnds {
          try buffer.append(piece: piece.span.bytes, longFrom: longFrom) { line, long in
            result.requests.append(parse(line, long))
            if long != nil { result.long += 1 }
          }
        }
      }
    } catch { result.tooLong = true }
    return result
  }

  @Test(arguments: [1, 20, 90, 150, 5_000]) func whatWasTakenInIsHandedOutAsItCame(_ length: Int) throws {
    let whole = Array((Self.call + "[\"\(String(repeating: "x", count: 100))\"],\"event\":\"e\"}}\r").utf8)
    let part = Array(whole.prefix(length))
    for piece in [1, 7, 10_000] {
      var buffer = RequestBuffer(limit: 10_000)
      for start in stride(from: 0, to: part.count, by: piece) {
        try buffer.append(piece: Array(part[start..<min(start + piece, part.count)]).span.bytes, longFrom: 64) { _, _ in
        }
      }
      #expect(buffer.received == part, "pieces of \(piece)")
    }
  }

  /// It may wait in a queue that counts what it holds and not the room around it.
  @Test(arguments: [70_000, 270_000, 900_000])
  func aLongMemberTakesHardlyMoreMemoryThanItHolds(_ length: Int) throws {
    var buffer = RequestBuffer(limit: 1 << 20)
    let line = Array((Self.call + "[\"\(String(repeating: "x", count: length))\"]}}\n").utf8)
    var member: LongMember?
    for start in stride(from: 0, to: line.count, by: 65_536) {
      let piece = Array(line[start..<min(start + 65_536, line.count)])
      try buffer.append(piece: piece.span.bytes) { _, long in member = long }
    }
    let text = try #require(member).text
    #expect(text.count == length + 4)
    #expect(text.capacity < text.count * 3 / 2 + 64)
  }

  private static let call = #"{"jsonrpc":"2.0","id":1,"method":"send","params":{"upstream":"u","event":"e","args":"#

  @Test(arguments: [
    call + #"["a long one with a few words",{"k":[1,2,3]}]}}"#,
    call + #"["grüße",12345.678e9,true,null] , "kwargs":{"a":"another long one, which is not taken out"}}  }"#,
    #"{"params":{"kwargs":{"a":"a long one with a few words"},"event":"e","upstream":"u"},"method":"send","jsonrpc":"2.0"}"#,
    call + #"["a long one with a mistake",,1]}}"#, call + #"["a long one that is not closed"}}"#,
    call + "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15 ", call + "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,1",
    call + #"["a long one that ends with the line"#, call + #"["one with a mistake behind it"]}} x"#,
    call + #"["one with a second key behind it"]},"id":2}"#, call + #"["one with the same param again"],"args":[]}}"#,
    call + #"["one and a param that there is not"],"arg":[]}}"#,
    call + #"{"no":"array but an object of some length"}}}"#,
    call + #""no array but a string of some length"}}"#,
    #"{"jsonrpc":"2.0","id":1,"method":"status","params":{"args":["a long one where there is none"]}}"#,
    #"["a batch, which nobody understands, of some length"]"#, #"{"params":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}"#,
  ])
  func aLineThatIsTakenApartIsTheSameCall(_ line: String) {
    let stream = "\(line)\n\(line)\r\n"
    let whole = Self.feed(stream, piece: .max, longFrom: .max)
    #expect(whole.requests.count == 2)
    for piece in 1...40 {
      for longFrom in [1, 60, 90, 100] {
        let result = Self.feed(stream, piece: piece, longFrom: longFrom)
        #expect(result.requests == whole.requests, "pieces of \(piece), long from \(longFrom)")
        #expect(!result.tooLong)
      }
    }
  }

  @Test func aLongLineIsTakenApart() {
    let line = Self.call + #"["a long one with a few words"]}}"# + "\n"
    #expect(Self.feed(line, piece: 30, longFrom: 90).long == 1)
    #expect(Self.feed(line, piece: .max, longFrom: 90).long == 0)
  }

  @Test func theLimitIsTheSameForALineThatIsTakenApart() {
    let line = Self.call + #"["a long one with a few words"]}}"#
    for (end, limit, fits) in [
      ("\n", 0, true), ("\r\n", 0, true), ("\n", -1, false), ("\r\n", -1, false), ("\r\r\n", 0, false), ("", -1, false),
    ] {
      for piece in [1, 7, 30] {
        let result = Self.feed(line + end, piece: piece, longFrom: 90, limit: line.utf8.count + limit)
        #expect(result.tooLong == !fits, "\(end.debugDescription) \(limit) \(piece)")
      }
    }
  }

  /// Whatever the whole text has, one of its parts has, too.
  @Test(arguments: [
    #"{"$bin":"aGk="}"#, #"{"\u0024bin":1}"#, #"{"$$bin":1}"#, #"["$"]"#, #"["a$b\"$b"]"#, #"["\\"]"#, #"["\u0061"]"#,
    #"{"a":"b","$bin":1}"#, #"["\\","$b"]"#, #"["\"\u0024b"]"#,
  ])
  func aMarkIsFoundHoweverItIsCut(_ text: String) {
    let bytes = Array(text.utf8)
    let isNeeded = LocalForm.needsLook(bytes.span.bytes, 0..<bytes.count) { _, _ in false }
    for first in 0...bytes.count {
      for second in first...bytes.count {
        var (found, looked) = (false, 0)
        for end in [first, second, bytes.count] {
          let come = Array(bytes[..<end])
          if LocalForm.mayBeginMark(come.span.bytes, looked..<end) { found = true }
          looked = end
        }
        #expect(found || !isNeeded, "cut at \(first) and \(second)")
      }
    }
  }
}
