@testable import GatewayCore
import Testing

@testable import gatewayctl

@Suite struct RenderingTests {
  private let plain = Palette(isColored: false)

  @Test func columnsAreAlignedByWidthAndNotByLength() {
    var table = Table(["NAME", "STATE"])
    table.add([.init("日本"), .init("up")])
    table.add([.init("e\u{301}te\u{301}"), .init("down")], notes: [.init("why")])
    table.add([.init("👋"), .init("up")])
    #expect(table.text(plain) == "NAME  STATE\n日本  up\ne\u{301}te\u{301}   down\n  why\n👋    up\n")
  }

  @Test(arguments: [
    (#"{"state":"failing","reason":"full","detail":"no room"}"#, "outbox failing: no room\n"),
    (#"{"state":"working","warning":"it grows"}"#, "outbox: it grows\n"), (#"{"state":"working"}"#, ""),
  ])
  func statusSaysWhatIsWrongWithTheOutbox(_ outbox: String, _ line: String) throws {
    let document = try JSONValue.parse(Array(#"{"daemon":{"version":"1","outbox":\#(outbox)}}"#.utf8).span.bytes)
    let text = StatusView(document: document, now: 0, palette: plain).everything()
    #expect(text == "gatewayd 1  ?\n\(line)\nno connections: nobody uses an upstream\n")
  }

  @Test func anUpstreamThatNobodyUsesIsSaidToBeConfigured() throws {
    let document = try JSONValue.parse(Array(#"{"connections":[]}"#.utf8).span.bytes)
    let view = StatusView(document: document, now: 0, palette: plain)
    let reason = "no connection in this namespace; its first use makes one\n"
    #expect(view.connections(of: "admin") == "'admin' is configured; " + reason)
    #expect(view.connections(of: "https://chat.example") == reason)
  }

  @Test func coloursDoNotDisturbTheColumns() {
    var table = Table(["A", "B"])
    table.add([.init("x", .good), .init("y")])
    #expect(
      table.text(Palette(isColored: true)) == "\u{1b}[1mA\u{1b}[0m  \u{1b}[1mB\u{1b}[0m\n\u{1b}[32mx\u{1b}[0m  y\n")
  }

  @Test func aTableGivesWayWhereItIsWidest() {
    var table = Table(["NAME", "URL", "STATE"], elastic: ["NAME", "URL"])
    table.add(
      [.init("chat"), .init("https://chat.example/a/long/path"), .init("up")], notes: [.init("because it is so")])
    #expect(
      table.text(plain, width: 32)
        == """
        NAME  URL                  STATE
        chat  https://chat…g/path  up
          because it is so

        """)
    #expect(table.text(plain, width: 12).split(separator: "\n")[2...] == ["  because it", "  is so"])
    #expect(table.text(plain, width: 80) == table.text(plain))
  }

  @Test func sentencesGoOnBelowEachOther() {
    var table = Table(["METHOD", "WHAT IT DOES"], wrapped: true)
    table.add([.init("send"), .init("Sends an event to an upstream; it may wait.")])
    #expect(
      table.text(plain, width: 34)
        == """
        METHOD  WHAT IT DOES
        send    Sends an event to an
                upstream; it may wait.

        """)
  }

  @Test func sendsOfOthersSayWhoseTheyAre() {
    let entries = [1000, 0].map { Array(#"{"id":"a","upstream":"chat","event":"e","state":"sent","uid":\#($0)}"#.utf8) }
    func heading(_ uid: Int, _ entries: [[UInt8]]) -> Substring? {
      OutboxView(now: 0, palette: plain, uid: uid).table(entries, isEverything: true).split(separator: "\n").first
    }
    #expect(heading(0, entries)?.hasPrefix("ID  UID   UPSTREAM") == true)
    #expect(heading(1000, [entries[0]])?.hasPrefix("ID  UPSTREAM") == true)
  }

  @Test func whatCouldSteerATerminalIsWrittenOut() {
    #expect(TextWidth.escaped("a\u{1b}[31m\u{7f}\u{9b}\u{202e}b\n") == #"a\u001b[31m\u007f\u009b\u202eb\u000a"#)
    #expect(TextWidth.escaped("grün 日本 👋") == "grün 日本 👋")
  }

  @Test func noMarkThatTurnsOrHidesTextReachesATerminal() {
    let marks: [ClosedRange<UInt32>] = [
      0xad...0xad, 0x61c...0x61c, 0x180e...0x180e, 0x200b...0x200b, 0x200e...0x200f, 0x2028...0x202e, 0x2060...0x2064,
      0x2066...0x206f, 0xfeff...0xfeff, 0xfff9...0xfffb, 0x1d173...0x1d17a, 0xe0001...0xe0001, 0xe0020...0xe007f,
    ]
    for value in marks.joined() {
      let text = Unicode.Scalar(value).map { "a\($0)b" } ?? ""
      let shown = TextWidth.escaped(text)
      #expect(shown.utf8.allSatisfy { $0 < 0x7f }, "U+\(String(value, radix: 16))")
      #expect(try! JSONValue.parse(Array("\"\(shown)\"".utf8).span.bytes) == .string(text))
    }
    for text in ["می\u{200c}خواهم", "👩\u{200d}🚀", "क्\u{200d}ष"] { #expect(TextWidth.escaped(text) == text) }
  }

  @Test(
    arguments: [
      ([:], true, false, true), ([:], false, false, false), (["TERM": "dumb"], true, false, false),
      (["NO_COLOR": "1"], true, false, false), (["FORCE_COLOR": "1"], false, false, true),
      (["FORCE_COLOR": "0"], true, false, false), (["FORCE_COLOR": "1", "TERM": "dumb"], true, false, true),
      (["FORCE_COLOR": "1", "NO_COLOR": "1"], true, false, false), (["FORCE_COLOR": "1"], true, true, false),
    ] as [([String: String], Bool, Bool, Bool)])
  func colourFollowsTheEnvironment(_ variables: [String: String], _ terminal: Bool, _ refused: Bool, _ colored: Bool) {
    let environment = Environment(variables: variables, outputIsTerminal: terminal, errorsAreTerminal: false)
    #expect(Palette(environment: environment, refused: refused) == Palette(isColored: colored))
  }
}
