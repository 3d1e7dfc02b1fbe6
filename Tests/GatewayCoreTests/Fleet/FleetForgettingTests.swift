import Testing

@testable import GatewayCore

/// A host that is gone for good is forgotten on demand, and not before nothing of it is needed.
@Suite struct FleetForgettingTests {
  private let fleet = FleetGateways()

  /// What `host` answers when it is to forget another: of what it did, or the message of the error.
  private func forget(_ name: String, on host: String = "a", uid: UInt32 = 0) -> String {
    let client = fleet.hosts[host]?.client(uid: uid)
    client?.say(#"{"jsonrpc":"2.0","id":1,"method":"fleet.forget","params":{"host":"\#(name)"}}"#)
    fleet.turn(by: .milliseconds(100))
    let answer = client?.readValues().last
    let forgotten = answer?["result"]?["forgotten"]?.elements?.compactMap { $0["upstream"]?.stringValue }
    return forgotten.map { "forgotten of \($0.joined(separator: ", "))" }
      ?? answer?["error"]?["message"]?.stringValue ?? ""
  }

  private var hosts: [String] { fleet.store.rows(of: fleet.place.key(.hosts)).keys.sorted() }

  @Test func aHostThatIsGoneForGoodIsForgottenOnceItsSendsAreWritten() {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    fleet.start("b")
    fleet.turn(by: .seconds(1))
    fleet.hosts["a"]?.upstream.channel.fail(.closed)
    fleet.turn(by: .seconds(1))
    fleet.hosts["b"]?.client().call("send", #"{"upstream":"chat","event":"one","delivery":"durable"}"#)
    fleet.turn(by: .milliseconds(10))
    fleet.kill("b")
    #expect(forget("b").hasPrefix("b lives, or has not been silent for `fleet.adopt` yet ('chat')"))
    fleet.turn(by: .seconds(45))
    #expect(fleet.rows(.adopted) == ["waiting"])
    #expect(forget("b").hasPrefix("1 durable send of b to 'chat' has still to be written by the host with the link"))
    #expect(hosts == ["a", "b"] && fleet.rows(.adopted) == ["waiting"])
    fleet.accept("a")
    #expect(fleet.written("a") == ["one []"] && fleet.rows(.box(host: "b")) == ["finished"])
    #expect(forget("b") == "forgotten of chat")
    #expect(hosts == ["a"] && fleet.rows(.box(host: "b")) == [])
    #expect(forget("b").hasPrefix("The fleet has no host called 'b'"))
    // One of its name is like one that was never there.
    fleet.loseDisk("b")
    fleet.start("b")
    fleet.turn(by: .seconds(5))
    fleet.hosts["b"]?.client().call("send", #"{"upstream":"chat","event":"two","delivery":"durable"}"#)
    fleet.turn(by: .seconds(2))
    #expect(hosts == ["a", "b"] && fleet.written("a") == ["one []", "two []"])
  }

  @Test func whatIsNotGoneIsNotForgotten() {
    fleet.startTwo()
    #expect(forget("a", on: "b").hasPrefix("a has the link of 'chat', or had it last"))
    #expect(forget("b").hasPrefix("b lives"))
    #expect(forget("a").hasPrefix("a is this host"))
    #expect(forget("bb").hasPrefix("The fleet has no host called 'bb'"))
    // A name with other characters would be that of another key.
    for name in ["@", "b:/admin", "*"] { #expect(forget(name).hasPrefix("The fleet has no host called '\(name)'")) }
    #expect(forget("b", uid: 1_000).contains("admin"))
    #expect(hosts == ["a", "b"])
  }

  @Test func whereRedisIsNotReachedNothingIsForgotten() {
    fleet.startTwo()
    fleet.store.stop()
    fleet.turn(by: .seconds(1))
    #expect(forget("b").hasPrefix("The fleet's Redis cannot be used, and nothing was changed"))
  }
}

/// The same with one host, and what others say before it.
@Suite struct FleetForgettingProblemTests {
  private let scene = FleetScene()
  private let fleet: Fleet

  init() throws {
    var options = FleetOptions()
    (options.name, options.host, options.hold) = ("f", "a", .never)
    let seams = FleetSeams(time: scene.time, timers: scene.timers, random: FakeRandom(), machine: "m") { [scene] _ in
      scene.engine
    }
    fleet = try #require(Fleet(options, seams))
    var settings = UpstreamSettings()
    settings.fleet = true
    let url = UpstreamURL(scheme: "http", host: "chat.example")
    for name in ["u", "v"] {
      let specification = UpstreamSpecification(name: name, url: url, namespace: "/", settings: settings, owner: nil)
      _ = fleet.connector(for: specification, FleetSink())
    }
    scene.turn(by: .seconds(1))
  }

  private final class Heard { var result: Result<[FleetPlace], FleetForgetting.Failure>? }

  private func forget(_ host: String) -> Result<[FleetPlace], FleetForgetting.Failure>? {
    let heard = Heard()
    let forgetting = FleetForgetting(host, in: fleet)
    forgetting.start { heard.result = $0 }
    scene.settle()
    forgetting.cancel()
    return heard.result
  }

  private func join(_ host: String, _ upstream: String) -> FleetPlace {
    let place = fleet.place(upstream, "/")
    scene.run(FleetJoin(place: place, host: host, life: 0, details: FleetHostDetails()))
    return place
  }

  /// A host that holds has taken another for dead.
  private func adopt(_ host: String, in place: FleetPlace) {
    let step = FleetTake(place: place, host: "z", seen: FleetSight(), run: scene.store.run)
    guard scene.run(step) != nil else { return }
    let term = FleetOwn(term: 1, host: "z")
    scene.run(FleetAdopt(place: place, own: term, host: host, life: 1, beat: 0))
  }

  @Test func aSilentHostThatNoHolderHasTakenForDeadIsNotForgotten() {
    _ = join("b", "u")
    scene.turn(by: .seconds(12))
    #expect(forget("b") == .failure(.init(problem: .lives, upstream: "u")))
    scene.turn(by: .seconds(60))
    #expect(forget("b") == .failure(.init(problem: .isNotAdopted, upstream: "u")))
  }

  @Test func aHostIsForgottenOfAllUpstreamsOrOfNone() {
    let places = ["u", "v"].map { join("b", $0) }
    adopt("b", in: places[0])
    #expect(forget("b") == .failure(.init(problem: .lives, upstream: "v")))
    #expect(scene.store.hostRow(places[0].key(.hosts), "b") != nil)
    adopt("b", in: places[1])
    #expect(forget("b") == .success(places))
    #expect(places.allSatisfy { scene.store.hostRow($0.key(.hosts), "b") == nil })
  }

  @Test func aHostWhoseUserMayNotDoItSaysWhereToAsk() {
    adopt("b", in: join("b", "u"))
    scene.engine.refused = [.forget]
    let failure = FleetForgetting.Failure(problem: .mayNotForget("this user has no permissions"), upstream: "u")
    #expect(forget("b") == .failure(failure))
    let error = LocalError(failure, of: "b")
    #expect(error.kind == .permissionDenied)
    #expect(
      error.message
        == "This host's Redis user may not remove what 'u' has of b (this user has no permissions); ask on a host that may hold, or give the user the rights of one."
    )
  }

  @Test func aHostThatWasForgottenByMistakeJoinsAgainAndPutsItsSendsAgain() throws {
    let (place, link) = (fleet.place("u", "/"), try #require(fleet.link(of: fleet.place("u", "/"))))
    link.box.put(7, FleetFields())
    scene.turn(by: .seconds(1))
    let (hosts, box) = (place.key(.hosts), place.key(.box(host: "a")))
    #expect(scene.store.rows(of: box).keys.sorted() == ["7"])
    let row = try #require(scene.store.hostRow(hosts, "a"))
    scene.run(FleetTake(place: place, host: "z", seen: FleetSight(), run: scene.store.run))
    let own = FleetOwn(term: 1, host: "z")
    scene.run(FleetAdopt(place: place, own: own, host: "a", life: row.life, beat: row.beat ?? 0))
    scene.run(FleetDone(place: place, own: own, host: "a", outcomes: ["7": FleetSendEnd(.sent).row]))
    #expect(scene.run(FleetForget(place: place, host: "a")) == .forgotten)
    #expect(scene.store.hostRow(hosts, "a") == nil)
    // It hears with its next sign of life that it was taken for dead, and begins another life.
    scene.turn(by: .seconds(20))
    let back = try #require(scene.store.hostRow(hosts, "a"))
    #expect(back.life > row.life && back.beat != nil && link.life == back.life)
    #expect(link.box.isSettled && scene.store.rows(of: box).keys.sorted() == ["7"])
  }
}
