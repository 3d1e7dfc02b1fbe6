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

  @Test func aConnectionIsSaidToBeDownSinceItsLossWhateverWasTriedSince() throws {
    func row(_ members: String) throws -> [Substring] {
      let connection = #"{"upstream":"chat","url":"http://h","state":"reconnecting","since":59000,\#(members)}"#
      let document = try JSONValue.parse(Array(#"{"connections":[\#(connection)]}"#.utf8).span.bytes)
      let lines = StatusView(document: document, now: 60_000, palette: plain).connections().split(separator: "\n")
      return try #require(lines.last).split(separator: " ", omittingEmptySubsequences: true)
    }
    #expect(try row(#""down_since":15000"#)[3...4] == ["45", "s"])
    #expect(try row(#""down_since":null"#)[3...4] == ["1", "s"])
  }

  @Test func theLinkThatThisHostHasIsCalledAsInTopAndNotSaidToBeElsewhere() throws {
    func connection(_ role: String, holds: Bool, redis: String = "working") -> String {
      #"{"upstream":"chat","url":"http://h","state":"connected","fleet":{"role":"\#(role)","host":"edge-3","#
        + #""holds":\#(holds),"holder":"\#(holds ? "edge-3" : "edge-17")","term":8,"redis":{"state":"\#(redis)"}}}"#
    }
    func lines(_ connections: String...) throws -> [Substring] {
      let text = #"{"connections":[\#(connections.joined(separator: ","))]}"#
      let document = try JSONValue.parse(Array(text.utf8).span.bytes)
      return StatusView(document: document, now: 0, palette: plain).connections().split(separator: "\n")
    }
    let here = try lines(connection("follower", holds: true), connection("holder", holds: true))
    #expect([here[1], here[3]].map { $0.hasPrefix("chat (link)") } == [false, true])
    #expect([here[2], here[4]].allSatisfy { $0.contains("this host has the fleet's link; term 8") })
    #expect(try lines(connection("follower", holds: false))[2].contains("the fleet's link is at edge-17; term 8"))
    let away = try lines(connection("follower", holds: false, redis: "unreachable"))
    #expect(away[2].contains("the fleet's link was last seen at edge-17; term 8"))
    let lapsed = connection("holder", holds: true).replacing(#""holds":true"#, with: #""holds":false"#)
    #expect(try lines(lapsed)[2].contains("this host had the fleet's link last, and may not write; term 8"))
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
      [.init("chat"), .init("https://chat.example/a/long/path/of/names"), .init("up")],
      notes: [.init("because it is so")])
    #expect(
      table.text(plain, width: 40)
        == """
        NAME  URL                          STATE
        chat  https://chat.examp…of/names  up
          because it is so

        """)
    #expect(table.text(plain, width: 12).split(separator: "\n")[2...] == ["  because it", "  is so"])
    #expect(table.text(plain, width: 80) == table.text(plain))
  }

  @Test func sentencesGoOnBelowEachOther() {
    var table = Table(["METHOD", "WHAT IT DOES"], wrapped: true)
    table.add([.init("send"), .init("Sends an event to an upstream and may wait for it.")])
    #expect(
      table.text(plain, width: 40)
        == """
        METHOD  WHAT IT DOES
        send    Sends an event to an upstream
                and may wait for it.

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
    #expect(TextWidth.escaped("می\u{200c}خواهم") == "می\u{200c}خواهم")
  }

  @Test func aJoinerDoesNotReachTheTerminal() {
    #expect(TextWidth.escaped("a\u{200d}b 👩\u{200d}🚀") == #"a\u200db 👩\u200d🚀"#)
  }

  @Test func anEscapeIsCutWhole() {
    let whole = try! Regex(#"(\\u[0-9a-f]{4}|[a-z])*…?(\\u[0-9a-f]{4}|[a-z])*"#)
    let text = TextWidth.escaped("ab\u{1b}cd\u{7}\u{9}ef\u{e0041}gh\u{9b}\u{7f}i")
    for width in 1...TextWidth.of(text) {
      let cut = TextWidth.elided(text, to: width)
      #expect(cut.wholeMatch(of: whole) != nil && TextWidth.of(cut) <= width, "\(cut)")
      #expect(TextWidth.lines(of: text, width: width).allSatisfy { $0.wholeMatch(of: whole) != nil })
    }
    #expect(TextWidth.elided(TextWidth.escaped("abc\u{e0041}def\u{e0042}"), to: 20) == #"abc…"#)
  }

  @Test func aLongWordGoesOnInTheNextLine() {
    #expect(TextWidth.lines(of: "at https://chat.example/a", width: 16) == ["at", "https://chat.exa", "mple/a"])
  }

  private static let hostileNames = [
    "chat", String(repeating: "a", count: 64), "https://a.example/" + String(repeating: "n", count: 200),
    "\u{1b}[31mred\u{7}\n\t", String(repeating: "世界", count: 40), String(repeating: "e\u{301}\u{302}", count: 50),
    String(repeating: "👩\u{200d}👧", count: 20), String(repeating: "\u{e0041}", count: 9),
    "\u{202e}gnirts\u{2066}\u{200d}",
  ]

  @Test(arguments: hostileNames) func noTableIsWiderThanTheTerminal(_ name: String) throws {
    let value = JSONValue.string(name).text
    let document = try JSONValue.parse(
      Array(
        #"""
        {"daemon":{"version":"1.0.0","uptime":86340000,"pid":4194304,"rss":190000000,"longest_turn":1500000,"state":"running",
        "outbox":{"state":"failing","reason":"full","detail":\#(value)}},"connections":[{"upstream":\#(value),"url":\#(value),
        "namespace":\#(value),"state":"disconnected","since":0,"reason":"refused","detail":\#(value),"leases":1000,
        "queue":{"count":100000},"in":{"events":10000000},"out":{"events":10000000},"rtt":12345.6,"transport":"websocket"}],
        "clients":[{"client":"c123456","name":\#(value),"uid":4294967294,"pid":4194304,"since":0,"subscriptions":1000,
        "requests":1000,"queue":{"count":100000},"dropped":10000000}],"left_out":{"connections":9999,"clients":9999},
        "methods":[{"name":"connection.disconnect","x-right":"admin","summary":\#(value)}]}
        """#.utf8
      ).span.bytes)
    let entry = #"""
      {"id":"0123456789ABCDEF","upstream":\#(value),"event":\#(value),"state":"cancelled","created":0,"expires":172740000,
      "attempts":1000,"reason":\#(value),"uid":4294967294}
      """#
    for width in [40, 41, 47, 53, 60, 72, 79, 80, 81, 100, 120] {
      let status = StatusView(document: document, now: 86_340_000, palette: plain, width: width)
      let outbox = OutboxView(now: 86_340_000, palette: plain, uid: 0, width: width)
      let texts = [
        status.everything(), status.connections(of: name), outbox.table([Array(entry.utf8)], isEverything: true),
        IntrospectView(palette: plain, width: width).list(document),
      ]
      for line in texts.joined().split(separator: "\n") { #expect(TextWidth.of(String(line)) <= width, "\(line)") }
    }
  }

  @Test func columnsAreLeftOutFromTheLeastImportantOn() {
    var table = Table(["ID", "NAME", "FOR", "PING"], elastic: ["NAME"], expendable: ["PING", "FOR", "NAME"])
    table.add([.init("1234567890123456"), .init("abcdefghijklmnopq"), .init("12 h 10 min"), .init("0.8 ms")])
    func heading(_ width: Int) -> Substring? { table.text(plain, width: width).split(separator: "\n").first }
    #expect(heading(51) == "ID                NAME          FOR          PING")
    #expect(heading(50) == "ID                NAME               FOR")
    #expect(heading(42) == "ID                NAME")
    #expect(heading(29) == "ID                NAME")
  }

  @Test(
    arguments: [
      ([:], true, false, true), ([:], false, false, false), (["TERM": "dumb"], true, false, false),
      (["NO_COLOR": "1"], true, false, false), (["FORCE_COLOR": "1"], false, false, true),
      (["FORCE_COLOR": "0"], true, false, false), (["FORCE_COLOR": "1", "TERM": "dumb"], true, false, true),
      (["FORCE_COLOR": "1", "NO_COLOR": "1"], true, false, false), (["FORCE_COLOR": "1"], true, true, false),
    ] as [([String: String], Bool, Bool, Bool)])
  func colourFollowsTheEnvironment(_ variables: [String: String], _ terminal: Bool, _ refused: Bool, _ colored: Bool) {
    let environment = Environment(variable: { variables[$0] }, outputIsTerminal: terminal, errorsAreTerminal: false)
    #expect(Palette(environment: environment, refused: refused) == Palette(isColored: colored))
  }
}
