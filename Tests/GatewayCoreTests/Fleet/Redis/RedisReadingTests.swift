import Testing

@testable import GatewayCore

@Suite struct RedisReadingTests {
  /// The server answers the present question, and the next one is asked.
  private func answer(_ text: String, _ rig: RedisRig) {
    rig.say(text)
    rig.advance(.zero)
  }

  @Test func aChangeOfWhatIsReadEndsTheWaiting() {
    let rig = RedisRig()
    rig.gain()
    _ = (rig.sent(on: rig.calls), rig.sent(on: rig.last))
    rig.engine.readOn(rig.place.key(.replies(host: "h")), after: .start, for: rig.listener)
    rig.advance(.zero)
    #expect(rig.sent(on: rig.last) == ["XREAD COUNT 1000 STREAMS gw:f:{u}:re:h 0-0"])
    answer("*-1\r\n", rig)
    #expect(rig.listener.words.last == .end("re:h"))
    #expect(rig.sent(on: rig.last) == ["XREAD COUNT 1000 BLOCK 0 STREAMS gw:f:{u}:re:h 0-0"])
    rig.engine.readOn(rig.place.key(.events), after: FleetPosition(3, 1), for: rig.listener)
    rig.advance(.zero)
    #expect(rig.sent(on: rig.calls) == ["CLIENT UNBLOCK 7"])
    // The question had not come to the server yet.
    rig.say(":0\r\n", to: rig.calls)
    rig.advance(.milliseconds(2))
    #expect(rig.sent(on: rig.calls) == ["CLIENT UNBLOCK 7"])
    rig.say(":1\r\n", to: rig.calls)
    answer("*-1\r\n", rig)
    #expect(rig.sent(on: rig.last) == ["XREAD COUNT 1000 STREAMS gw:f:{u}:re:h gw:f:{u}:ev 0-0 3-1"])
  }

  @Test func entriesOfAStreamBehindOneThatIsNotReadToItsEndAreReadAgain() {
    let rig = RedisRig { $0.readLimit = 2 }
    rig.gain()
    _ = rig.sent(on: rig.last)
    rig.engine.readOn(rig.place.key(.replies(host: "h")), after: .start, for: rig.listener)
    rig.engine.readOn(rig.place.key(.events), after: .start, for: rig.listener)
    rig.advance(.zero)
    func entry(_ id: String) -> String { "*2\r\n$3\r\n\(id)\r\n*2\r\n$1\r\nn\r\n$1\r\n1\r\n" }
    func stream(_ name: String, _ ids: String...) -> String {
      "*2\r\n$\(name.utf8.count)\r\n\(name)\r\n*\(ids.count)\r\n" + ids.map { entry($0) }.joined()
    }
    answer("*2\r\n" + stream("gw:f:{u}:re:h", "1-1", "1-2") + stream("gw:f:{u}:ev", "1-1"), rig)
    #expect(rig.listener.positions(of: "re:h").count == 2)
    #expect(rig.listener.positions(of: "ev") == [])
    #expect(rig.sent(on: rig.last).last == "XREAD COUNT 2 STREAMS gw:f:{u}:re:h gw:f:{u}:ev 1-2 0-0")
    answer("*2\r\n" + stream("gw:f:{u}:re:h", "1-3") + stream("gw:f:{u}:ev", "1-1"), rig)
    #expect(rig.listener.positions(of: "ev").count == 1)
    #expect(rig.listener.words.suffix(2) == [.end("re:h"), .end("ev")])
  }

  @Test func anEntryFarAheadIsNotPassedOver() {
    let rig = RedisRig()
    rig.gain()
    _ = rig.sent(on: rig.last)
    rig.engine.readOn(rig.place.key(.events), after: .start, for: rig.listener)
    rig.advance(.zero)
    _ = rig.sent(on: rig.last)
    let entry = "*2\r\n$22\r\n18446744073709551614-0\r\n*2\r\n$1\r\nn\r\n$1\r\n1\r\n"
    answer("*1\r\n*2\r\n$11\r\ngw:f:{u}:ev\r\n*1\r\n" + entry, rig)
    #expect(rig.listener.positions(of: "ev") == [] && rig.sent(on: rig.last) == [])
    #expect(rig.engine.refusal(of: rig.place)?.detail.contains("18446744073709551614-0") == true)
    // It is gone.
    rig.advance(.seconds(1))
    #expect(rig.sent(on: rig.last) == ["XREAD COUNT 1000 STREAMS gw:f:{u}:ev 0-0"])
    answer("*-1\r\n", rig)
    #expect(rig.engine.refusal(of: rig.place) == nil)
  }

  @Test func whoReadsAStreamHearsThatItIsRefusedAndThatItCanBeReadAgain() {
    let rig = RedisRig()
    rig.gain()
    _ = rig.sent(on: rig.last)
    rig.engine.readOn(rig.place.key(.up), after: .end, for: rig.listener)
    rig.advance(.zero)
    answer("*-1\r\n", rig)
    rig.advance(.zero)
    #expect(rig.listener.words == [.gained("run"), .end("up")] && rig.listener.refusedReads == [])
    answer("-NOPERM this user has no permissions to run the 'xread' command\r\n", rig)
    #expect(rig.listener.words.count == 2 && rig.listener.refusedReads == ["up"])
    rig.advance(.seconds(1))
    answer("*-1\r\n", rig)
    #expect(rig.listener.words == [.gained("run"), .end("up"), .end("up")] && rig.listener.refusedReads == ["up"])
  }

  @Test func anUpstreamThatCannotBeReadDoesNotHoldUpTheOthers() {
    let rig = RedisRig()
    rig.gain()
    _ = (rig.sent(on: rig.calls), rig.sent(on: rig.last))
    let other = FleetPlace(fleet: "f", upstream: "v")
    rig.engine.readOn(rig.place.key(.events), after: .start, for: rig.listener)
    rig.engine.readOn(other.key(.events), after: .start, for: rig.listener)
    rig.advance(.zero)
    let both = "XREAD COUNT 1000 STREAMS gw:f:{u}:ev gw:f:{v}:ev 0-0 0-0"
    let one = "XREAD COUNT 1000 STREAMS gw:f:{u}:ev 0-0"
    let waiting = "XREAD COUNT 1000 BLOCK 0 STREAMS gw:f:{v}:ev 0-0"
    #expect(rig.sent(on: rig.last) == [both])
    let words = "WRONGTYPE Operation against a key holding the wrong kind of value"
    answer("-\(words)\r\n", rig)
    var asked = rig.sent(on: rig.last)
    for _ in 0..<2 {
      answer(asked == [one] ? "-\(words)\r\n" : "*-1\r\n", rig)
      asked = rig.sent(on: rig.last)
    }
    #expect(rig.listener.words == [.gained("run"), .end("ev")])
    #expect(asked == [waiting])
    #expect(rig.listener.refusals == ["r1:6379 refuses XREAD of gw:f:{u}:ev (\(words))"])
    // Later it is tried again, alone.
    rig.advance(.seconds(1))
    #expect(rig.sent(on: rig.calls) == ["CLIENT UNBLOCK 7"])
    rig.say(":1\r\n", to: rig.calls)
    answer("*-1\r\n", rig)
    #expect(rig.sent(on: rig.last) == [one])
    answer("*-1\r\n", rig)
    #expect(rig.listener.words.suffix(1) == [.end("ev")])
    #expect(rig.sent(on: rig.last).first?.hasPrefix("XREAD COUNT 1000 BLOCK 0 STREAMS gw:f:{") == true)
    #expect(rig.engine.refusal(of: rig.place) == nil)
  }

  @Test func ofManyHostsNoneAsksForEventsInQuickSuccessionOneByOne() {
    let rig = RedisRig()
    rig.gain()
    rig.engine.readOn(rig.place.key(.events), after: .start, for: rig.listener)
    rig.advance(.zero)
    answer("*-1\r\n", rig)
    _ = (rig.sent(on: rig.calls), rig.sent(on: rig.last))
    func event(_ id: String) -> String {
      "*1\r\n*2\r\n$11\r\ngw:f:{u}:ev\r\n*1\r\n*2\r\n$3\r\n\(id)\r\n*2\r\n$1\r\nn\r\n$1\r\n1\r\n"
    }
    func question(_ id: String) -> [String] { ["XREAD COUNT 1000 BLOCK 0 STREAMS gw:f:{u}:ev \(id)"] }
    // Few of them.
    rig.engine.note(hosts: 31, of: rig.place)
    answer(event("1-1"), rig)
    #expect(rig.sent(on: rig.last) == question("1-1"))
    rig.engine.note(hosts: 100, of: rig.place)
    answer(event("1-2"), rig)
    #expect(rig.sent(on: rig.last) == [])
    #expect(rig.listener.positions(of: "ev").count == 2)
    rig.advance(.milliseconds(3))
    #expect(rig.sent(on: rig.last) == question("1-2"))
    // What comes alone is told and asked for at once.
    rig.advance(.milliseconds(3))
    answer(event("1-3"), rig)
    #expect(rig.sent(on: rig.last) == question("1-3"))
    // What is to be read besides does not wait.
    answer(event("1-4"), rig)
    rig.engine.readOn(rig.place.key(.replies(host: "h")), after: .start, for: rig.listener)
    rig.advance(.zero)
    #expect(rig.sent(on: rig.last) == ["XREAD COUNT 1000 STREAMS gw:f:{u}:ev gw:f:{u}:re:h 1-4 0-0"])
  }

  @Test(arguments: ["+OK\r\n", "*1\r\n*2\r\n$1\r\nx\r\n*0\r\n", "*1\r\n*2\r\n$9\r\ngw:f:{u}:\r\n*1\r\n$1\r\nx\r\n"])
  func entriesThatAreNoneEndTheConnection(answer: String) {
    let rig = RedisRig()
    rig.gain()
    rig.engine.readOn(rig.place.key(.events), after: .start, for: rig.listener)
    rig.advance(.zero)
    rig.say(answer)
    #expect(rig.listener.words == [.gained("run"), .lost])
    #expect(rig.engine.failure?.reason == .protocolError)
  }
}
