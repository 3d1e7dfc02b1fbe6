@testable import GatewayCore
import Testing

@testable import gatewayd

/// The engine of a fleet on real Redis servers.
@Suite(.enabled(if: RedisServer.program != nil, Comment(rawValue: RedisServer.missing)))
struct RedisEngineTests {
  private let place = FleetPlace(fleet: "f", upstream: "u")

  private func name(_ part: FleetKey.Part) -> String { place.key(part).text }

  private func refusal<Value>(_ outcome: FleetOutcome<Value>) -> FleetRefusal? {
    if case .refused(let refusal) = outcome { refusal } else { nil }
  }

  @Test(arguments: FleetEngineCase.all)
  func whatEveryEngineDoes(case test: FleetEngineCase) throws { try test.run(RedisBench()) }

  @Test(arguments: FleetEngineCase.all)
  func whatEveryEngineDoesReadingLittleAtATime(case test: FleetEngineCase) throws {
    try test.run(RedisBench { $0.readLimit = 3 })
  }

  @Test func throughTLSItIsTheSame() throws {
    let bench = try RedisBench(secure: true)
    #expect(try bench.take("a")?.term == 1)
    #expect(bench.engine.server?.address == "localhost:\(bench.server.port)")
    #expect(bench.engine.server?.version.isEmpty == false)
  }

  // MARK: - Finding the server

  @Test func theMasterIsFoundAmongSeveral() throws {
    let (master, replica) = (try RedisServer(), try RedisServer())
    try replica.ask("REPLICAOF", "127.0.0.1", String(master.port))
    let closed = try ClosedPort()
    let bench = try RedisBench(master) {
      $0.servers = [WebSocketDialing.request(closed.port), WebSocketDialing.request(replica.port)] + $0.servers
    }
    #expect(bench.engine.server?.address == "127.0.0.1:\(master.port)")
    #expect(bench.engines[0].failure == nil)
  }

  @Test func aReplicaAloneIsNoServer() throws {
    let bench = try RedisBench()
    let replica = try RedisServer()
    try replica.ask("REPLICAOF", "127.0.0.1", String(bench.server.port))
    let engine = bench.engine(RedisSettings(servers: [bench.request(replica)]))
    engine.begin()
    #expect(try bench.goOn { engine.failure != nil })
    #expect(
      engine.failure
        == UpstreamFailure(
          .unreachable, "127.0.0.1:\(replica.port) is a replica, and only the master takes writes"))
    // It becomes one.
    try replica.ask("REPLICAOF", "NO", "ONE")
    #expect(try bench.goOn { engine.server != nil })
    #expect(engine.failure == nil)
    engine.close()
  }

  @Test func aUserLogsInWithAPasswordThatIsReadAtEachConnect() throws {
    let server = try RedisServer()
    try server.ask("ACL", "SETUSER", "edge", "on", ">first", "+@all", "~*")
    try server.ask("ACL", "SETUSER", "default", "off")
    let bench = try RedisBench(server, engines: 0)
    bench.set(password: "wrong\n", at: "/p")
    var settings = RedisSettings(servers: bench.servers)
    settings.user = "edge"
    settings.password = .file("/p")
    let engine = bench.engine(settings)
    engine.begin()
    #expect(try bench.goOn { engine.failure != nil })
    #expect(engine.failure?.reason == .refused)
    #expect(engine.failure?.detail.contains("refused the login (WRONGPASS") == true, "\(engine.failure?.detail ?? "")")
    bench.set(password: "first\n", at: "/p")
    #expect(try bench.goOn { engine.server != nil })
    engine.close()
    let stranger = bench.engine(RedisSettings(servers: bench.servers))
    stranger.begin()
    #expect(try bench.goOn { stranger.failure != nil })
    #expect(stranger.failure?.detail.contains("wants a login, and the fleet has no password") == true)
    stranger.close()
  }

  // MARK: - Losing it

  @Test func aServerThatIsKilledIsFoundAgainAsAnother() throws {
    let bench = try RedisBench()
    let listener = FleetEngineListener()
    bench.engine.add(listener)
    #expect(try bench.goOn { listener.words.count == 1 })
    let run = bench.run
    bench.server.kill()
    #expect(try bench.goOn { listener.words == [.gained(run), .lost] })
    #expect(bench.engines[0].failure != nil)
    try bench.server.restart()
    #expect(try bench.goOn { listener.words.count == 3 })
    #expect(bench.run != run)
    #expect(try bench.append(1, at: FleetPosition(1, 1)) == .done(FleetPosition(1, 1)))
  }

  @Test func aServerThatStandsStillIsLostAndFoundAgain() throws {
    let bench = try RedisBench { $0.answerLimit = .milliseconds(300) }
    let run = bench.run
    bench.server.stop()
    #expect(try bench.outcome { bench.engine.newest(of: place.key(.events), $0) } == .unanswered)
    #expect(bench.engines[0].server == nil)
    bench.server.goOn()
    #expect(try bench.goOn { bench.engine.server?.run == run })
  }

  /// The connection that waits for entries says nothing for hours; that it is dead is found by asking.
  @Test func aServerThatStandsStillIsLostAlsoWhereNobodyAsks() throws {
    let bench = try RedisBench {
      $0.answerLimit = .milliseconds(300)
      $0.quietLimit = .milliseconds(200)
    }
    let listener = FleetEngineListener()
    bench.engine.add(listener)
    bench.engine.readOn(place.key(.events), after: .start, for: listener)
    #expect(try bench.goOn { listener.words.contains(.end("ev")) })
    bench.server.stop()
    #expect(try bench.goOn { listener.words.last == .lost })
    bench.server.goOn()
    #expect(try bench.goOn { listener.words.last == .gained(bench.run) })
  }

  @Test func aQuietServerThatLivesIsKept() throws {
    let bench = try RedisBench { $0.quietLimit = .milliseconds(20) }
    let listener = FleetEngineListener()
    bench.engine.add(listener)
    bench.engine.readOn(place.key(.events), after: .start, for: listener)
    // So often was it asked for a sign of life.
    #expect(
      try bench.goOn {
        (try? bench.server.ask("INFO", "commandstats"))?.contains("cmdstat_client|unblock:calls=5") == true
      })
    _ = try bench.append(1, at: FleetPosition(1, 1))
    #expect(try bench.goOn { listener.records.count == 1 })
    #expect(!listener.words.contains(.lost))
  }

  @Test func aMasterThatBecomesAReplicaIsLeft() throws {
    let bench = try RedisBench()
    let another = try RedisServer()
    try bench.server.ask("REPLICAOF", "127.0.0.1", String(another.port))
    let outcome = try bench.append(1, at: FleetPosition(1, 1))
    #expect(outcome == .unanswered)
    #expect(bench.engines[0].failure?.detail.contains("is a replica") == true)
  }

  @Test func aScriptThatWasForgottenIsToldAgain() throws {
    let bench = try RedisBench()
    _ = try bench.take("a")
    let beat = FleetBeat(place: place, own: FleetOwn(term: 1, host: "a"))
    #expect(try bench.step(beat) == .done(FleetBeaten(beat: 1)))
    #expect(try bench.step(beat) == .done(FleetBeaten(beat: 2)))
    try bench.server.ask("SCRIPT", "FLUSH")
    let outcome = try bench.step(beat)
    #expect(outcome == .done(FleetBeaten(beat: 3)) || outcome == .unanswered)
    #expect(try bench.goOn { bench.engine.server != nil })
    #expect(try bench.rows(.lease)["beat"] == Array((outcome == .done(FleetBeaten(beat: 3)) ? "3" : "2").utf8))
    guard case .done = try bench.step(beat) else { throw NotDone() }
  }

  // MARK: - What it refuses

  @Test func aFullServerRefusesEventsAndSendsAndKeepsTheLease() throws {
    let bench = try RedisBench()
    _ = try bench.take("a")
    _ = try bench.step(FleetJoin(place: place, host: "a", life: 0, details: FleetHostDetails()))
    try bench.server.ask("CONFIG", "SET", "maxmemory", "1")
    #expect(try refusal(bench.append(1, at: FleetPosition(9, 1))) == .full)
    #expect(try refusal(bench.append(1, at: nil, to: .up)) == .full)
    let put = FleetPut(place: place, host: "a", life: 1, name: "1", row: .waiting(FleetFields()))
    #expect(try refusal(bench.step(put)) == .full)
    let own = FleetOwn(term: 1, host: "a")
    #expect(try bench.step(FleetBeat(place: place, own: own)) == .done(FleetBeaten(beat: 1)))
    #expect(try bench.step(FleetAlive(place: place, host: "a", life: 1, details: FleetHostDetails())) == .done(1))
    #expect(try bench.step(FleetRelease(place: place, own: own)) == .done(true))
    #expect(try bench.take("b", FleetSight(own: own.text, beat: "1"))?.term == 2)
    try bench.server.ask("CONFIG", "SET", "maxmemory", "0")
    #expect(try bench.step(put) == .done(true))
  }

  @Test func aKeyOfAnotherKindIsNamedAsSuch() throws {
    let bench = try RedisBench()
    try bench.server.ask("SET", name(.events), "x")
    let words = "WRONGTYPE Operation against a key holding the wrong kind of value"
    #expect(try refusal(bench.append(1, at: FleetPosition(1, 1))) == .other(words))
    #expect(try refusal(bench.step(FleetTake(place: place, host: "a", seen: FleetSight(), run: "r"))) != nil)
    #expect(bench.engine.server != nil)
  }

  /// What the rights of a host that never holds are said to be.
  @Test func aHostThatNeverHoldsNeedsFewRights() throws {
    let server = try RedisServer()
    try server.ask(
      "ACL", "SETUSER", "edge", "on", ">p", "%R~\(name(.lease))", "%R~\(name(.events))", "%R~\(name(.adopted))",
      "%W~\(name(.up))", "~\(name(.replies(host: "edge")))", "~\(name(.box(host: "edge")))", "~\(name(.hosts))",
      "+role", "+info", "+client|id", "+client|unblock", "+ping", "+wait", "+eval", "+evalsha", "+xadd", "+xread",
      "+xrevrange", "+xtrim", "+hgetall", "+hkeys", "+hmget", "+hget", "+hset", "+hdel", "+hincrby", "+hexists",
      "+exists",
      "+xinfo|stream", "+del")
    let bench = try RedisBench(server) { _ in }
    bench.set(password: "p", at: "/p")
    var settings = RedisSettings(servers: bench.servers)
    settings.user = "edge"
    settings.password = .file("/p")
    let engine = bench.engine(settings)
    engine.begin()
    #expect(try bench.goOn { engine.server != nil })
    func outcome<Value>(_ ask: (@escaping (FleetOutcome<Value>) -> Void) -> Void) throws -> FleetOutcome<Value> {
      try bench.outcome(ask)
    }
    let join = FleetJoin(place: place, host: "edge", life: 0, details: FleetHostDetails())
    #expect(try outcome { engine.run(join, $0) } == .done(FleetJoined(life: 1, names: [])))
    let put = FleetPut(place: place, host: "edge", life: 1, name: "1", row: .waiting(FleetFields()))
    #expect(try outcome { engine.run(put, $0) } == .done(true))
    guard
      case .done = try outcome({
        engine.append(FleetFields([.init(name: "a", value: [])]), to: place.key(.up), at: nil, $0)
      })
    else { throw NotDone() }
    let listener = FleetEngineListener()
    engine.readOn(place.key(.replies(host: "edge")), after: .start, for: listener)
    engine.readOn(place.key(.events), after: .start, for: listener)
    #expect(try bench.goOn { listener.words == [.end("re:edge"), .end("ev")] })
    #expect(try outcome { engine.rows(of: place.key(.lease), nil, $0) } == .done([:]))
    // It may not publish, nor take the lease, nor see what others have in their boxes.
    let fields = FleetEngineListener.sample
    let event = try outcome { engine.append(fields, to: place.key(.events), at: FleetPosition(1, 1), $0) }
    guard case .forbidden? = refusal(event) else { throw NotDone() }
    let take = FleetTake(place: place, host: "edge", seen: FleetSight(), run: "r")
    guard case .forbidden? = refusal(try outcome { engine.run(take, $0) }) else { throw NotDone() }
    let rows = try outcome { engine.rows(of: place.key(.box(host: "other")), nil, $0) }
    guard case .forbidden? = refusal(rows) else { throw NotDone() }
    #expect(engine.server != nil)
    engine.close()
  }

  // MARK: - Copies

  @Test func whatMustLastCountsWhenAReplicaHasIt() throws {
    let (master, replica) = (try RedisServer(), try RedisServer())
    try replica.ask("REPLICAOF", "127.0.0.1", String(master.port))
    let bench = try RedisBench(master) {
      $0.copies = 1
      $0.copyLimit = .seconds(1)
    }
    let join = FleetJoin(place: place, host: "a", life: 0, details: FleetHostDetails())
    #expect(try bench.goOn { (try? bench.step(join)).map { if case .done = $0 { true } else { false } } ?? false })
    #expect(try bench.take("a")?.term == 1)
    let beat = FleetBeat(place: place, own: FleetOwn(term: 1, host: "a"))
    #expect(try bench.step(beat) == .done(FleetBeaten(beat: 1)))
    // What follows such a call is told behind it.
    var order: [Int] = []
    bench.engine.run(beat) { _ in order.append(1) }
    bench.engine.newest(of: place.key(.events)) { _ in order.append(2) }
    #expect(try bench.goOn { order == [1, 2] })
    replica.stop()
    #expect(try bench.step(beat) == .uncopied)
    #expect(try bench.step(FleetBeat(place: place, own: FleetOwn(term: 9, host: "a"))) == .fenced)
    #expect(bench.engine.server != nil)
    replica.goOn()
    #expect(try bench.goOn { (try? bench.step(beat)).map { if case .done = $0 { true } else { false } } ?? false })
  }

  // MARK: - Clusters

  @Test func whereTheKeysHaveMovedToIsDialled() throws {
    let (first, second) = (
      try RedisServer(["--cluster-enabled", "yes"]), try RedisServer(["--cluster-enabled", "yes"])
    )
    try first.ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
    try second.ask("CLUSTER", "MEET", "127.0.0.1", String(first.port))
    let bench = try RedisBench(first)
    #expect(
      try bench.goOn { (try? second.ask("CLUSTER", "INFO"))?.contains("cluster_state:ok") == true })
    let engine = bench.engine(RedisSettings(servers: [bench.request(second)]))
    engine.begin()
    #expect(try bench.goOn { engine.server != nil })
    #expect(try bench.outcome { engine.newest(of: place.key(.events), $0) } == .unanswered)
    #expect(engine.failure?.detail.contains("has given the keys away, to 127.0.0.1:\(first.port)") == true)
    #expect(try bench.goOn { engine.server?.address == "127.0.0.1:\(first.port)" })
    #expect(try bench.outcome { engine.newest(of: place.key(.events), $0) } == .done(nil))
    engine.close()
  }
}
