import Testing

@testable import GatewayCore

/// What a host has under the name that it takes while another daemon has its own, and under its own before.
@Suite struct FleetNamesakeTests {
  private let fleet = FleetGateways()

  /// Host `a` holds and does not reach the server; `b` never holds, and has a durable send that waits.
  private func begin() {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    fleet.hold = .never
    fleet.start("b")
    fleet.turn(by: .seconds(5))
    fleet.hosts["a"]?.upstream.channel.fail(.closed)
    fleet.turn(by: .seconds(1))
  }

  private func send() {
    fleet.hosts["b"]?.client().call("send", #"{"upstream":"chat","event":"one","delivery":"durable"}"#)
    fleet.turn(by: .milliseconds(10))
  }

  private func share(_ host: String) -> Fleet? { fleet.hosts[host]?.gateway.upstreams.fleet }

  private func copies(_ host: String) -> [String] { fleet.rows(.box(host: host)) }

  private func engine() throws -> FleetMemoryEngine {
    try #require(share("b")?.link(of: fleet.place)?.engine as? FleetMemoryEngine)
  }

  /// The server is reached again when others have taken the former name of `b` for dead.
  private func goOn() {
    fleet.turn(by: .seconds(60))
    fleet.accept("a")
    fleet.turn(by: .seconds(15))
  }

  // MARK: - Durable sends

  @Test func sendsOfAHostThatLeavesTheFleetUnderAnotherNameAreWrittenOnce() throws {
    begin()
    fleet.joinANamesake(of: "b")
    let name = try #require(share("b")?.host)
    send()
    #expect(name.hasPrefix("b-") && copies(name) == ["waiting"])
    fleet.hosts["b"]?.reload { $0.upstreams["chat"]?.settings.fleet = false }
    fleet.turn(by: .seconds(1))
    #expect(copies(name) == [])
    fleet.accept("b")
    goOn()
    #expect(fleet.written("b") == ["one []"] && fleet.written("a") == [])
  }

  @Test func aSendThatIsCancelledWhenItsHostHasItsNameAgainIsNotWrittenByAnother() throws {
    begin()
    fleet.joinANamesake(of: "b")
    let name = try #require(share("b")?.host)
    send()
    fleet.hosts["b"]?.reload { _ in }
    #expect(share("b")?.host == "b")
    fleet.hosts["b"]?.client().call("outbox.cancel", #"{"upstream":"chat"}"#)
    fleet.turn(by: .seconds(2))
    #expect(copies(name) == [] && copies("b") == [])
    goOn()
    #expect(fleet.written("a") == [])
  }

  @Test func aHostThatLosesItsNameTakesItsOwnCopiesWithItAndNotThoseOfTheOtherDaemon() throws {
    begin()
    send()
    let box = fleet.place.key(.box(host: "b"))
    fleet.store.set(box, "other", FleetBoxRow.waiting(FleetFields()).bytes)
    fleet.joinANamesake(of: "b")
    let name = try #require(share("b")?.host)
    #expect(fleet.store.rows(of: box).keys.sorted() == ["other"] && copies(name) == ["waiting"])
  }

  @Test func aCopyUnderAFormerNameStaysWhileThereIsNoneUnderTheNewOne() throws {
    begin()
    fleet.joinANamesake(of: "b")
    let (name, engine) = (try #require(share("b")?.host), try engine())
    send()
    engine.refused = [.put]
    fleet.hosts["b"]?.reload { _ in }
    fleet.turn(by: .seconds(5))
    #expect(copies(name) == ["waiting"] && copies("b") == [])
    engine.refused = []
    fleet.turn(by: .seconds(15))
    #expect(copies(name) == [] && copies("b") == ["waiting"])
  }

  @Test func aCopyUnderANameThatItsHostHasAgainStays() throws {
    begin()
    send()
    let engine = try engine()
    engine.refused = [.put]
    fleet.joinANamesake(of: "b")
    #expect(share("b")?.takenName == "b" && copies("b") == ["waiting"])
    fleet.hosts["b"]?.reload { _ in }
    fleet.turn(by: .seconds(5))
    #expect(share("b")?.host == "b" && copies("b") == ["waiting"])
  }

  @Test func noCopyStaysUnderTheNameOfAHostThatHadTwoOthersBeforeItsSendWasThereAgain() throws {
    fleet.durable = .fleet
    begin()
    send()
    let engine = try engine()
    engine.refused = [.put]
    fleet.joinANamesake(of: "b")
    let second = try #require(share("b")?.host)
    fleet.joinANamesake(of: second)
    let third = try #require(share("b")?.host)
    #expect(Set(["b", second, third]).count == 3 && copies("b") == ["waiting"])
    engine.refused = []
    fleet.turn(by: .seconds(11))
    #expect(copies("b") == [] && copies(second) == [] && copies(third) == ["waiting"])
  }

  @Test func aHostThatMayNotRemoveTheCopiesUnderAFormerNameDoesNotTryForEver() throws {
    begin()
    fleet.joinANamesake(of: "b")
    let (name, engine) = (try #require(share("b")?.host), try engine())
    send()
    engine.isRemovalRefused = true
    fleet.hosts["b"]?.reload { _ in }
    fleet.turn(by: .seconds(3))
    engine.isRemovalRefused = false
    fleet.turn(by: .seconds(3))
    #expect(copies(name) == ["waiting"])
  }

  // MARK: - The link

  /// Who has it.
  private var holder: String { fleet.store.text(fleet.place.key(.lease), "holder") ?? "" }

  /// `b`, which has another name, has the link, and `a` uses it.
  private func holdUnderAnotherName() throws {
    fleet.startTwo()
    fleet.joinANamesake(of: "b")
    fleet.kill("a")
    fleet.turn(by: .seconds(8))
    fleet.accept("b")
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    try #require(holder.hasPrefix("b-") && fleet.hosts["b"]?.upstream.channels.last?.isClosed == false)
  }

  @Test func aHolderThatHasItsNameAgainByAReloadGivesItsLinkBackInOrder() throws {
    try holdUnderAnotherName()
    let channel = try #require(fleet.hosts["b"]?.upstream.channels.last)
    fleet.hosts["b"]?.reload { _ in }
    fleet.turn(by: .seconds(1))
    // Whoever is faster takes it at once.
    #expect(channel.isClosed && share("b")?.host == "b" && ["a", "b"].contains(holder))
  }

  @Test func aHolderKeepsItsLinkWhileItHasAnotherNameAndTheOtherDaemonIsGone() throws {
    try holdUnderAnotherName()
    let (name, channel) = (holder, try #require(fleet.hosts["b"]?.upstream.channels.last))
    fleet.turn(by: .seconds(60))
    #expect(holder == name && share("b")?.host == name && !channel.isClosed)
    fleet.hosts["b"]?.client(uid: 0).call("fleet.leave")
    fleet.turn(by: .seconds(15))
    #expect(holder == "a" && share("b")?.host == "b")
  }

  @Test func aReloadWhileTheEngineIsNotReachedLeavesAHolderItsLinkAndItsName() throws {
    try holdUnderAnotherName()
    let (name, channel) = (holder, try #require(fleet.hosts["b"]?.upstream.channels.last))
    fleet.store.stop()
    fleet.turn(by: .milliseconds(100))
    fleet.hosts["b"]?.reload { _ in }
    fleet.store.start()
    fleet.turn(by: .seconds(5))
    #expect(holder == name && share("b")?.host == name && !channel.isClosed)
  }
}
