import GatewayCore
import Testing

@testable import gatewayctl

/// What `--format` makes of an event.
@Suite struct EventFormatTests {
  private func event(_ name: String, args: String, kwargs: String? = nil) throws -> ReceivedEvent {
    let more = kwargs.map { #","kwargs":\#($0)"# } ?? ""
    let text = #"{"seq":11,"time":1795232601018,"event":\#(name),"args":\#(args)\#(more)}"#
    return try #require(RawJSONObject(Array(text.utf8)).flatMap { ReceivedEvent($0, epoch: "e7") })
  }

  @Test(arguments: [
    ("%e", "a\"b"), ("%j", #"["x\u0041", 1.0]"#), ("%a", "xA"), ("%k", #"{"k":1}"#), ("%s %E %u", "11 e7 chat"),
    ("%U", "1795232601.018"), ("%%e%%%%", "%e%%"), (#"\t\n\r\e\\n"#, "\t\n\r\u{1b}\\n"), ("", ""), ("é😀", "é😀"),
    ("%J", #"{"event":"a\"b","args":["x\u0041", 1.0],"kwargs":{"k":1},"seq":11,"epoch":"e7","time":1795232601018}"#),
  ])
  func eachLetterStandsForAPartOfTheEvent(_ format: String, _ expected: String) throws {
    let event = try event(#""a\"b""#, args: #"["x\u0041", 1.0]"#, kwargs: #"{"k":1}"#)
    #expect(try EventFormat(format).text(event, of: Target("chat"), shown: { $0 }) == expected)
  }

  @Test(arguments: [("[]", ""), ("[null]", "null"), (#"[{"a":1}]"#, #"{"a":1}"#), (#"["\u001b"]"#, "\u{1b}")])
  func theFirstArgumentIsTextOnlyWhereItIsAString(_ args: String, _ expected: String) throws {
    let event = try event(#""e""#, args: args)
    #expect(try EventFormat("%a").text(event, of: Target("chat"), shown: { $0 }) == expected)
  }

  @Test func onlyWhatTheServerWroteIsMadeSafeToShow() throws {
    let event = try event(#""e""#, args: #"["\u001b[31m"]"#)
    #expect(
      try EventFormat(#"\e[1m%a"#).text(event, of: Target("c"), shown: TextWidth.escaped) == "\u{1b}[1m\\u001b[31m")
  }

  @Test(arguments: ["%", "%x", "a%é", #"\"#, #"\x"#])
  func whatStandsForNothingIsRefused(_ format: String) {
    let failure = #expect(throws: Failure.self) { try EventFormat(format) }
    #expect(failure?.code == .usage && failure?.message?.contains("write one of") == true)
  }
}
