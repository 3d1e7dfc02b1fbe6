import Testing

@testable import GatewayCore

/// An engine whose servers the test plays.
private final class Rig {
  let time = FakeTime()
  let timers: Timers
  let dialer = FakeTransportDialer()
  let engine: RedisEngine
  let listener = FleetEngineListener()
  let place = FleetPlace(fleet: "f", upstream: "u")

  init(hosts: [String] = ["r1"], _ change: (inout RedisSettings) -> Void = { _ in }) {
    timers = Timers(time: time)
    var settings = RedisSettings(
      servers: hosts.map {
        DialRequest(
          secure: false, host: $0, port: 6_379, target: "", headers: [], tls: TLSSettings(), phaseLimit: .seconds(1),
          messageLimit: 1 << 20)
      })
    change(&settings)
    engine = RedisEngine(
      settings, dialer: dialer, credentials: FakeCredentials(), timers: timers, random: FakeRandom())
    engine.add(listener)
    engine.begin()
  }

  var last: FakeTransport { dialer.transports[dialer.transports.count - 1] }
  var calls: FakeTransport { dialer.transports[dialer.transports.count - 2] }

  func advance(_ duration: Duration) {
    let end = time.now + duration
    while let next = timers.nextDeadline, next <= end {
      time.now = max(time.now, next)
      timers.fire()
    }
    time.now = end
  }

  static func login(role: String = "master", version: String = "7.0.15", run: String = "run", loading: Int = 0)
    -> String
  {
    func bulk(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }
    return "*3\r\n\(bulk(role)):0\r\n*0\r\n" + bulk("# Server\r\nredis_version:\(version)\r\nrun_id:\(run)\r\n")
      + bulk("# Persistence\r\nloading:\(loading)\r\n") + ":7\r\n"
  }

  /// The two connections are made.
  func gain(run: String = "run") {
    for _ in 0..<2 {
      last.open()
      say(Self.login(run: run))
    }
  }

  func say(_ text: String, to transport: FakeTransport? = nil) {
    (transport ?? last).receive(binary: Array(text.utf8))
  }

  /// What was sent on a connection since the last look, a command a line.
  func sent(on transport: FakeTransport) -> [String] {
    var lines: [String] = []
    let bytes = transport.takeSent().flatMap {
      $0.dropFirst().dropLast().split(separator: " ").compactMap { UInt8($0, radix: 16) }
    }
    let reader = RESPReader()
    try? reader.receive(bytes.span.bytes, opening: { 0 }) { nodes, bytes, _ in
      let words = nodes.compactMap { node -> String? in
        guard case .bulk(let range) = node else { return nil }
        return bytes.extracting(range).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      }
      lines.append(words.joined(separator: " "))
      return true
    }
    return lines
  }
}

@Suite struct RedisEngineTests {
  @Test func twoConnectionsAreMadeOneBehindTheOther() {
    let rig = Rig()
    #expect(rig.dialer.transports.count == 1)
    rig.last.open()
    #expect(rig.sent(on: rig.last) == ["ROLE", "INFO server", "INFO persistence", "CLIENT ID"])
    rig.say(Rig.login())
    #expect(rig.dialer.transports.count == 2)
    #expect(rig.engine.server == nil)
    rig.last.open()
    rig.say(Rig.login())
    #expect(rig.engine.server == FleetServer(run: "run", address: "r1:6379", version: "7.0.15"))
    #expect(rig.listener.words == [.gained("run")])
  }

  @Test(arguments: [
    (Rig.login(role: "slave"), "is a replica"), (Rig.login(role: "sentinel"), "is a Sentinel"),
    (Rig.login(version: "6.0.16"), "is Redis 6.0.16, and a fleet needs 6.2"),
    (Rig.login(loading: 1), "is still loading"),
    ("-LOADING Redis is loading the dataset in memory\r\n", "is still loading"),
    ("-NOAUTH Authentication required.\r\n", "wants a login, and the fleet has no password"),
    ("-ERR max number of clients reached\r\n", "turned the connection away (ERR max number of clients reached)"),
    ("-NOPERM this user has no permissions\r\n", "does not let this user do what each host has to do (NOPERM"),
    ("HTTP/1.1 400 Bad Request\r\n", "may be no Redis server"), ("+OK\r\n", "ROLE has another answer"),
    ("*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n$1\r\nx\r\n", "no run_id"), (Rig.login() + "+more\r\n", "nobody asked for"),
  ])
  func aServerThatWillNotDoIsPassedOver(answer: String, sentence: String) {
    let rig = Rig(hosts: ["r1", "r2"])
    rig.last.open()
    rig.say(answer)
    #expect(rig.engine.failure?.detail.contains(sentence) == true, "\(rig.engine.failure?.detail ?? "")")
    #expect(rig.engine.failure?.detail.hasPrefix("r1:6379 ") == true)
    #expect(rig.dialer.transports.map(\.request.host).last == "r2")
    rig.gain()
    #expect(rig.engine.server?.address == "r2:6379")
    #expect(rig.engine.failure == nil)
    #expect(rig.dialer.transports.first?.isClosed == true)
  }

  @Test func versionsFromSixTwoOnWillDo() {
    for version in ["6.2.0", "7.0.15", "8.1.1", "10.0"] {
      let rig = Rig()
      rig.last.open()
      rig.say(Rig.login(version: version))
      #expect(rig.dialer.transports.count == 2, "\(version)")
    }
  }

  @Test func twoConnectionsToTwoServersAreGivenUp() {
    let rig = Rig()
    rig.last.open()
    rig.say(Rig.login(run: "one"))
    rig.last.open()
    rig.say(Rig.login(run: "two"))
    #expect(rig.engine.server == nil)
    #expect(rig.engine.failure?.detail == "r1:6379 led to two servers at once")
  }

  /// Between the rounds it rests, for longer each time.
  @Test func whereNothingIsReachedItTriesAgain() {
    let rig = Rig()
    var rests: [Int] = []
    for round in 1...7 {
      #expect(rig.dialer.transports.count == round)
      rig.last.fail(UpstreamFailure(.unreachable, "connection refused"))
      var milliseconds = 0
      while rig.dialer.transports.count == round {
        rig.advance(.milliseconds(1))
        milliseconds += 1
      }
      rests.append(milliseconds)
    }
    #expect(rig.engine.failure == UpstreamFailure(.unreachable, "r1:6379: connection refused"))
    #expect(rests.first.map { (75...126).contains($0) } == true, "\(rests)")
    #expect(rests.allSatisfy { $0 <= 1_251 }, "\(rests)")
    #expect(rests.last.map { $0 >= 750 } == true, "\(rests)")
  }

  @Test func whatIsAskedWhileNothingIsReachedIsUnansweredLater() {
    let rig = Rig()
    var heard: [FleetOutcome<FleetBeaten>] = []
    rig.engine.run(FleetBeat(place: rig.place, own: FleetOwn(term: 1, host: "a"))) { heard.append($0) }
    #expect(heard == [])
    rig.advance(.zero)
    #expect(heard == [.unanswered])
  }

  @Test func anAnswerThatTakesTooLongEndsBothConnections() {
    let rig = Rig { $0.answerLimit = .milliseconds(500) }
    rig.gain()
    var heard: [FleetOutcome<FleetRecord?>] = []
    rig.engine.newest(of: rig.place.key(.up)) { heard.append($0) }
    rig.advance(.milliseconds(300))
    rig.engine.newest(of: rig.place.key(.up)) { heard.append($0) }
    rig.say("*0\r\n", to: rig.calls)
    #expect(heard == [.done(nil)])
    rig.advance(.milliseconds(499))
    #expect(rig.engine.server != nil)
    let (calls, streams) = (rig.calls, rig.last)
    rig.advance(.milliseconds(1))
    #expect(heard == [.done(nil), .unanswered])
    #expect(rig.listener.words == [.gained("run"), .lost])
    #expect(rig.engine.failure == UpstreamFailure(.timeout, "r1:6379 did not answer within 500 ms"))
    #expect(calls.isClosed && streams.isClosed)
  }

  @Test func aLongAnswerMayTakeItsTime() {
    let rig = Rig { $0.answerLimit = .milliseconds(500) }
    rig.gain()
    var heard: [Int?] = []
    rig.engine.rows(of: rig.place.key(.lease), nil) {
      if case .done(let rows) = $0 { heard.append(rows["a"]?.count) } else { heard.append(nil) }
    }
    rig.say("*2\r\n$1\r\na\r\n$20\r\n", to: rig.calls)
    for _ in 0..<10 {
      rig.advance(.milliseconds(400))
      rig.say("xx", to: rig.calls)
    }
    rig.say("\r\n", to: rig.calls)
    #expect(heard == [20])
  }

  @Test func aScriptIsToldInFullOnceForEachConnection() {
    let rig = Rig()
    rig.gain()
    _ = rig.sent(on: rig.calls)
    let beat = FleetBeat(place: rig.place, own: FleetOwn(term: 1, host: "a"))
    for _ in 0..<2 { rig.engine.run(beat) { _ in } }
    let digest = FleetScripts.digest(of: .beat)
    #expect(
      rig.sent(on: rig.calls) == [
        "EVAL \(FleetScripts.text(of: .beat)) 1 gw:f:{u}:L 1@a 1  0", "EVALSHA \(digest) 1 gw:f:{u}:L 1@a 1  0",
      ])
  }

  /// One WAIT behind all of a turn; what only follows is told behind them, and what was refused counts at once.
  @Test func whatMustLastIsWaitedForOncePerTurn() {
    let rig = Rig { $0.copies = 2 }
    rig.gain()
    _ = rig.sent(on: rig.calls)
    var heard: [String] = []
    let beat = FleetBeat(place: rig.place, own: FleetOwn(term: 1, host: "a"))
    rig.engine.run(beat) { heard.append("1 \($0)") }
    rig.engine.newest(of: rig.place.key(.up)) { heard.append("2 \($0)") }
    rig.engine.run(beat) { heard.append("3 \($0)") }
    rig.advance(.zero)
    #expect(rig.sent(on: rig.calls).last == "WAIT 2 400")
    rig.say("-FENCED x\r\n*0\r\n*2\r\n:5\r\n$0\r\n\r\n", to: rig.calls)
    #expect(heard == ["1 fenced", "2 done(nil)"])
    rig.say(":1\r\n", to: rig.calls)
    #expect(heard == ["1 fenced", "2 done(nil)", "3 unanswered"])
    rig.engine.run(beat) { heard.append("4 \($0)") }
    rig.engine.newest(of: rig.place.key(.up)) { heard.append("5 \($0)") }
    rig.advance(.zero)
    rig.say("*2\r\n:6\r\n$0\r\n\r\n*0\r\n", to: rig.calls)
    #expect(heard.count == 3)
    rig.say(":2\r\n", to: rig.calls)
    #expect(heard.suffix(2) == ["4 \(FleetOutcome<FleetBeaten>.done(FleetBeaten(beat: 6)))", "5 done(nil)"])
  }

  @Test func aChangeOfWhatIsReadEndsTheWaiting() {
    let rig = Rig()
    rig.gain()
    _ = (rig.sent(on: rig.calls), rig.sent(on: rig.last))
    rig.engine.readOn(rig.place.key(.replies(host: "h")), after: .start, for: rig.listener)
    rig.advance(.zero)
    #expect(rig.sent(on: rig.last) == ["XREAD COUNT 1000 STREAMS gw:f:{u}:re:h 0-0"])
    rig.say("*-1\r\n")
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
    rig.say("*-1\r\n")
    #expect(rig.sent(on: rig.last) == ["XREAD COUNT 1000 STREAMS gw:f:{u}:re:h gw:f:{u}:ev 0-0 3-1"])
  }

  @Test func entriesOfAStreamBehindOneThatIsNotReadToItsEndAreReadAgain() {
    let rig = Rig { $0.readLimit = 2 }
    rig.gain()
    _ = rig.sent(on: rig.last)
    rig.engine.readOn(rig.place.key(.replies(host: "h")), after: .start, for: rig.listener)
    rig.engine.readOn(rig.place.key(.events), after: .start, for: rig.listener)
    rig.advance(.zero)
    func entry(_ id: String) -> String { "*2\r\n$3\r\n\(id)\r\n*2\r\n$1\r\nn\r\n$1\r\n1\r\n" }
    func stream(_ name: String, _ ids: String...) -> String {
      "*2\r\n$\(name.utf8.count)\r\n\(name)\r\n*\(ids.count)\r\n" + ids.map { entry($0) }.joined()
    }
    rig.say("*2\r\n" + stream("gw:f:{u}:re:h", "1-1", "1-2") + stream("gw:f:{u}:ev", "1-1"))
    #expect(rig.listener.positions(of: "re:h").count == 2)
    #expect(rig.listener.positions(of: "ev") == [])
    #expect(rig.sent(on: rig.last).last == "XREAD COUNT 2 STREAMS gw:f:{u}:re:h gw:f:{u}:ev 1-2 0-0")
    rig.say("*2\r\n" + stream("gw:f:{u}:re:h", "1-3") + stream("gw:f:{u}:ev", "1-1"))
    #expect(rig.listener.positions(of: "ev").count == 1)
    #expect(rig.listener.words.suffix(2) == [.end("re:h"), .end("ev")])
  }

  @Test(arguments: ["+OK\r\n", "*1\r\n*2\r\n$1\r\nx\r\n*0\r\n", "*1\r\n*2\r\n$9\r\ngw:f:{u}:\r\n*1\r\n$1\r\nx\r\n"])
  func entriesThatAreNoneEndTheConnection(answer: String) {
    let rig = Rig()
    rig.gain()
    rig.engine.readOn(rig.place.key(.events), after: .start, for: rig.listener)
    rig.advance(.zero)
    rig.say(answer)
    #expect(rig.listener.words == [.gained("run"), .lost])
    #expect(rig.engine.failure?.reason == .protocolError)
  }

  @Test func whatIsClosedSaysNothingMore() {
    let rig = Rig()
    rig.gain()
    var heard: [FleetOutcome<FleetRecord?>] = []
    rig.engine.newest(of: rig.place.key(.up)) { heard.append($0) }
    let (calls, streams) = (rig.calls, rig.last)
    rig.engine.close()
    #expect(heard == [.unanswered])
    #expect(calls.isClosed && streams.isClosed)
    #expect(rig.listener.words == [.gained("run")])
    rig.advance(.seconds(60))
    #expect(rig.dialer.transports.count == 2)
    #expect(rig.timers.nextDeadline == nil)
  }
}
