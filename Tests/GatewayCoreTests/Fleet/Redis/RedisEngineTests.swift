import Testing

@testable import GatewayCore

@Suite struct RedisEngineTests {
  @Test func twoConnectionsAreMadeOneBehindTheOther() {
    let rig = RedisRig()
    #expect(rig.dialer.transports.count == 1)
    rig.last.open()
    #expect(rig.sent(on: rig.last) == ["ROLE", "INFO server", "INFO persistence", "INFO memory", "CLIENT ID"])
    rig.say(RedisRig.login())
    #expect(rig.dialer.transports.count == 2)
    #expect(rig.engine.server == nil)
    rig.last.open()
    rig.say(RedisRig.login())
    #expect(rig.engine.server == FleetServer(run: "run", address: "r1:6379", version: "7.0.15"))
    #expect(rig.listener.words == [.gained("run")])
  }

  @Test(arguments: [
    (RedisRig.login(role: "slave"), "is a replica"), (RedisRig.login(role: "sentinel"), "is a Sentinel"),
    (RedisRig.login(version: "6.0.16"), "is Redis 6.0.16, and a fleet needs 6.2"),
    (RedisRig.login(loading: 1), "is still loading"),
    ("-LOADING Redis is loading the dataset in memory\r\n", "is still loading"),
    ("-NOAUTH Authentication required.\r\n", "wants a login, and the fleet has no password"),
    ("-ERR max number of clients reached\r\n", "turned the connection away (ERR max number of clients reached)"),
    ("-NOPERM this user has no permissions\r\n", "does not let this user do what each host has to do (NOPERM"),
    ("HTTP/1.1 400 Bad Request\r\n", "may be no Redis server"), ("+OK\r\n", "ROLE has another answer"),
    ("*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n$1\r\nx\r\n", "no run_id"),
    (RedisRig.login() + "+more\r\n", "nobody asked for"),
  ])
  func aServerThatWillNotDoIsPassedOver(answer: String, sentence: String) {
    let rig = RedisRig(hosts: ["r1", "r2"])
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

  private static let wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n"

  @Test(arguments: [
    (wrong + RedisRig.login(role: "sentinel"), "r1:6379 is a Sentinel"),
    (wrong + RedisRig.login(), "r1:6379 refused the login (WRONGPASS"),
    (wrong + RedisRig.login(role: "slave"), "r1:6379 refused the login (WRONGPASS"),
    (wrong + "-NOAUTH Authentication required.\r\n", "r1:6379 refused the login (WRONGPASS"),
    (wrong, "r1:6379 refused the login (WRONGPASS"),
  ])
  func aSentinelThatRefusesTheLoginIsSaidToBeASentinel(answers: String, sentence: String) {
    let rig = RedisRig {
      $0.user = "edge"
      $0.password = .file("/p")
    }
    rig.last.open()
    rig.say(answers)
    rig.last.fail(UpstreamFailure(.closed, "gone"))
    #expect(rig.engine.failure?.detail.hasPrefix(sentence) == true, "\(rig.engine.failure?.detail ?? "")")
  }

  @Test func aServerThatAnswersByteByByteIsPassedOver() {
    let rig = RedisRig(hosts: ["r1", "r2"]) { $0.answerLimit = .milliseconds(500) }
    rig.last.open()
    for byte in RedisRig.login() where rig.dialer.transports.count == 1 {
      rig.say(String(byte))
      rig.advance(.milliseconds(100))
    }
    #expect(rig.dialer.transports.map(\.request.host) == ["r1", "r2"])
    #expect(rig.engine.failure?.detail == "r1:6379 did not answer within 500 ms")
  }

  @Test(arguments: [
    ("maxmemory:100\r\nmaxmemory_policy:allkeys-lru", true), ("maxmemory:0\r\nmaxmemory_policy:allkeys-lru", false),
    ("maxmemory:100\r\nmaxmemory_policy:volatile-lru", false),
  ])
  func aServerThatMayRemoveKeysIsSaidToBeDangerous(memory: String, isDangerous: Bool) {
    let rig = RedisRig()
    for _ in 0..<2 {
      rig.last.open()
      rig.say(RedisRig.login(memory: memory))
    }
    let sentence =
      "r1:6379 removes keys when its memory is full (maxmemory-policy allkeys-lru): a fleet needs noeviction"
    #expect(rig.engine.server?.danger == (isDangerous ? sentence : nil))
    #expect(rig.reports.contains(.endangered(sentence)) == isDangerous)
  }

  @Test func versionsFromSixTwoOnWillDo() {
    for version in ["6.2.0", "7.0.15", "8.1.1", "10.0"] {
      let rig = RedisRig()
      rig.last.open()
      rig.say(RedisRig.login(version: version))
      #expect(rig.dialer.transports.count == 2, "\(version)")
    }
  }

  @Test func twoConnectionsToTwoServersAreGivenUp() {
    let rig = RedisRig()
    rig.last.open()
    rig.say(RedisRig.login(run: "one"))
    rig.last.open()
    rig.say(RedisRig.login(run: "two"))
    #expect(rig.engine.server == nil)
    #expect(rig.engine.failure?.detail == "r1:6379 led to two servers at once")
  }

  /// Between the rounds it rests, for longer each time.

  @Test func whatIsAskedWhileNothingIsReachedIsUnansweredLater() {
    let rig = RedisRig()
    var heard: [FleetOutcome<FleetBeaten>] = []
    rig.engine.run(FleetBeat(place: rig.place, own: FleetOwn(term: 1, host: "a"))) { heard.append($0) }
    #expect(heard == [])
    rig.advance(.zero)
    #expect(heard == [.unanswered])
  }

  @Test func anAnswerThatTakesTooLongEndsBothConnections() {
    let rig = RedisRig { $0.answerLimit = .milliseconds(500) }
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

  @Test func anAnswerThatIsLostIsMissedAndTheConnectionMadeAnew() {
    let rig = RedisRig()
    rig.gain()
    var heard: [FleetOutcome<FleetRecord?>] = []
    func ask() { rig.engine.newest(of: rig.place.key(.up)) { heard.append($0) } }
    ask()
    rig.advance(.seconds(2))
    _ = rig.sent(on: rig.calls)
    ask()
    #expect(rig.sent(on: rig.calls) == ["XREVRANGE gw:f:{u}:up + - COUNT 1", "PING proof-1"])
    // The answer to the first is lost: that to the second comes, and is taken for it.
    rig.say("*0\r\n$7\r\nproof-1\r\n", to: rig.calls)
    #expect(heard == [.done(nil), .refused(.other("the server's answer makes no sense"))])
    ask()
    rig.say("*0\r\n", to: rig.calls)
    #expect(heard.last == .unanswered)
    #expect(rig.listener.words == [.gained("run"), .lost])
    let sentence = "r1:6379 answered what makes no sense: the answer to another question"
    #expect(rig.engine.failure == UpstreamFailure(.protocolError, sentence))
    rig.advance(.milliseconds(200))
    rig.gain()
    ask()
    rig.say("*0\r\n", to: rig.calls)
    #expect(heard.last == .done(nil))
  }

  @Test func whatMakesNoSenseInRedisCostsNoConnection() {
    let rig = RedisRig()
    rig.gain()
    for round in 1...3 {
      rig.advance(.seconds(2))
      var heard: [FleetOutcome<FleetBeaten>] = []
      rig.engine.run(FleetBeat(place: rig.place, own: FleetOwn(term: 1, host: "a"))) { heard.append($0) }
      rig.say("*2\r\n:-5\r\n$0\r\n\r\n$7\r\nproof-\(round)\r\n", to: rig.calls)
      #expect(heard == [.refused(.other("the server's answer makes no sense"))])
      rig.sayAlive()
    }
    #expect(rig.listener.words == [.gained("run")])
  }

  @Test(
    arguments: [
      ("$7\r\nproof-1\r\n", nil), ("+PONG\r\n", .protocolError),
      ("-NOPERM this user has no permissions to run the 'ping' command\r\n", .refused),
      ("-LOADING Redis is loading the dataset in memory\r\n", .unreachable),
    ] as [(String, DownReason?)])
  func aProofThatDoesNotComeHasAReason(answer: String, reason: DownReason?) {
    let rig = RedisRig()
    rig.gain()
    rig.advance(.seconds(2))
    rig.engine.newest(of: rig.place.key(.up)) { _ in }
    rig.say("*0\r\n" + answer, to: rig.calls)
    #expect(rig.engine.failure?.reason == reason)
  }

  @Test func aLongAnswerMayTakeItsTime() {
    let rig = RedisRig { $0.answerLimit = .milliseconds(500) }
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
    let rig = RedisRig()
    rig.gain()
    _ = rig.sent(on: rig.calls)
    let beat = FleetBeat(place: rig.place, own: FleetOwn(term: 1, host: "a"))
    for _ in 0..<2 { rig.engine.run(beat) { _ in } }
    let digest = FleetScripts.digest(of: .beat)
    #expect(
      rig.sent(on: rig.calls) == [
        "EVAL \(FleetScripts.text(of: .beat)) 2 gw:f:{u}:L gw:f:{u}:up 1@a 1  0     ",
        "EVALSHA \(digest) 2 gw:f:{u}:L gw:f:{u}:up 1@a 1  0     ",
      ])
  }

  /// One WAIT behind all of a turn; what only follows is told behind them, and what was refused counts at once.

  @Test func whatMustLastIsWaitedForOncePerTurn() {
    let rig = RedisRig { $0.copies = 2 }
    rig.gain(replicas: 2)
    _ = rig.sent(on: rig.calls)
    var heard: [String] = []
    let beat = FleetBeat(place: rig.place, own: FleetOwn(term: 1, host: "a"))
    rig.engine.run(beat) { heard.append("1 \($0)") }
    rig.engine.newest(of: rig.place.key(.up)) { heard.append("2 \($0)") }
    rig.engine.run(beat) { heard.append("3 \($0)") }
    rig.advance(.zero)
    #expect(rig.sent(on: rig.calls).last == "WAIT 2 400")
    rig.say("-FENCED x\r\n*0\r\n*3\r\n:5\r\n$0\r\n\r\n$3\r\n0-0\r\n", to: rig.calls)
    #expect(heard == ["1 fenced", "2 done(nil)"])
    rig.say(":1\r\n", to: rig.calls)
    #expect(heard == ["1 fenced", "2 done(nil)", "3 uncopied"])
    rig.engine.run(beat) { heard.append("4 \($0)") }
    rig.engine.newest(of: rig.place.key(.up)) { heard.append("5 \($0)") }
    rig.advance(.zero)
    rig.say("*3\r\n:6\r\n$0\r\n\r\n$3\r\n0-0\r\n*0\r\n", to: rig.calls)
    #expect(heard.count == 3)
    rig.say(":2\r\n", to: rig.calls)
    #expect(heard.suffix(2) == ["4 \(FleetOutcome<FleetBeaten>.done(FleetBeaten(beat: 6)))", "5 done(nil)"])
  }

  /// Which of them it is about is not said.

  @Test func whatIsClosedSaysNothingMore() {
    let rig = RedisRig()
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
