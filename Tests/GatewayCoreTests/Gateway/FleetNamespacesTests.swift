import Testing

@testable import GatewayCore

/// Links of a fleet in namespaces that the configuration does not name.
@Suite struct FleetNamespacesTests {
  private let fleet = FleetGateways()
  private let place = FleetPlace(fleet: "f", upstream: "chat", namespace: "/a1")
  private let target = #"{"upstream":"chat","namespace":"/a1"}"#

  init() { fleet.keep = .onDemand }

  /// What the fleet says of who has the link.
  private var holder: String? { fleet.store.text(place.key(.lease), "holder") }

  private func places(_ host: String) -> [FleetPlace] { fleet.hosts[host]?.gateway.upstreams.fleet?.places ?? [] }

  /// A program of a host uses the namespace.
  private func subscribe(_ host: String) throws -> HarnessClient {
    let program = try #require(fleet.hosts[host]).client()
    program.call("subscribe", target)
    fleet.turn(by: .seconds(5))
    return program
  }

  /// Host `a` has the link to the configured namespace, and one to another for a program of its own.
  private func startOne() throws -> HarnessClient {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    let program = try subscribe("a")
    #expect(holder == "a" && places("a") == [fleet.place, place])
    return program
  }

  /// Of the connection that the programs of a host have in the namespace.
  private func state(_ host: String) -> String? {
    let shown = HarnessClient.values(fleet.hosts[host]?.client(uid: 0).call("status") ?? []).last?["result"]
    return shown?["connections"]?.elements?.first {
      $0["namespace"]?.stringValue == "/a1" && $0["fleet"]?["role"]?.stringValue == "follower"
    }?["state"]?.stringValue
  }

  @Test(arguments: [true, false])
  func aLinkInANamespaceThatNoProgramUsesAnyMoreIsNotKeptForGood(_ isReached: Bool) throws {
    let program = try startOne()
    if isReached { fleet.accept("a") }
    #expect(state("a") == (isReached ? "connected" : "created"))
    program.disconnect()
    fleet.turn(by: .seconds(300))
    #expect(holder == "" && places("a") == [fleet.place])
    #expect(fleet.store.hostRow(place.key(.hosts), "a")?.details.isStopped == true)
    #expect(fleet.store.text(fleet.place.key(.lease), "holder") == "a")
    let shown = HarnessClient.values(fleet.hosts["a"]?.client(uid: 0).call("status") ?? []).last?["result"]
    #expect(shown?["connections"]?.elements?.map { $0["namespace"]?.stringValue } == ["/"])
    // It is not tried at the server any more, but for a program that comes back.
    let tried = try #require(fleet.hosts["a"]).upstream.channels.count
    fleet.turn(by: .seconds(300))
    #expect(fleet.hosts["a"]?.upstream.channels.count == tried)
    _ = try subscribe("a")
    #expect(holder == "a" && fleet.hosts["a"]?.upstream.channels.count == tried + 1)
  }

  @Test func aProgramThatComesBackJustAfterItsLinkWasGivenUpHasAnotherOne() throws {
    try startOne().disconnect()
    for _ in 0..<300 where places("a").count > 1 { fleet.turn(by: .seconds(1)) }
    #expect(places("a") == [fleet.place])
    _ = try subscribe("a")
    fleet.accept("a")
    fleet.turn(by: .seconds(1))
    #expect(holder == "a" && state("a") == "connected")
  }

  @Test func aLinkThatAnAdministratorKeepsClosedStaysSo() throws {
    let program = try startOne()
    fleet.accept("a")
    fleet.hosts["a"]?.client(uid: 0).call("disconnect", target)
    program.disconnect()
    fleet.turn(by: .seconds(600))
    #expect(places("a") == [fleet.place, place])
    let tried = try #require(fleet.hosts["a"]).upstream.channels.count
    fleet.hosts["a"]?.client(uid: 0).call("reconnect", target)
    fleet.turn(by: .seconds(600))
    #expect(places("a") == [fleet.place])
    #expect(fleet.hosts["a"]?.upstream.channels.count == tried + 1)
  }

  @Test func aHostThatNeverHoldsKeepsTheLinkThatItCouldNotHaveOpenedAgain() throws {
    let program = try startOne()
    fleet.hold = .never
    fleet.start("b")
    let other = try subscribe("b")
    program.disconnect()
    other.disconnect()
    fleet.turn(by: .seconds(300))
    #expect(holder == "a" && ["a", "b"].map(places) == [[fleet.place, place], [fleet.place, place]])
    // Not for longer than it lives.
    fleet.kill("b")
    fleet.turn(by: .seconds(300))
    #expect(holder == "" && places("a") == [fleet.place])
  }

  @Test func aHostThatNeverHoldsLeavesANamespaceThatNoHostWouldOpen() throws {
    fleet.hold = .never
    fleet.start("a")
    let program = try subscribe("a")
    #expect(places("a") == [fleet.place, place])
    program.disconnect()
    fleet.turn(by: .seconds(300))
    #expect(places("a") == [fleet.place])
  }

  @Test func aHostThatStoppedWithItsProgramsKeepsNoLinkForGood() throws {
    let program = try startOne()
    fleet.start("b")
    let other = try subscribe("b")
    program.disconnect()
    fleet.hosts["b"]?.gateway.stop(reason: "test") {}
    fleet.turn(by: .seconds(10))
    _ = other
    fleet.kill("b")
    #expect(fleet.store.hostRow(place.key(.hosts), "b")?.details.isStopped == true)
    fleet.turn(by: .seconds(300))
    #expect(holder == "" && places("a") == [fleet.place])
  }

  @Test func aLinkThatProgramsOfAnotherHostUseStaysWhereItIs() throws {
    let program = try startOne()
    fleet.accept("a")
    fleet.start("b")
    let other = try subscribe("b")
    program.disconnect()
    fleet.turn(by: .seconds(300))
    #expect(holder == "a" && places("a") == [fleet.place, place])
    // The host without the link goes first, so that it is not offered round.
    other.disconnect()
    fleet.turn(by: .seconds(300))
    #expect(holder == "" && ["a", "b"].map(places) == [[fleet.place], [fleet.place]])
    #expect(fleet.hosts["b"]?.upstream.channels.isEmpty == true)
  }

  @Test func whatAHostThatDiedHasLeftInANamespaceIsWrittenBeforeItsLinkIsGivenUp() throws {
    let program = try startOne()
    fleet.start("b")
    let send = #"{"upstream":"chat","namespace":"/a1","event":"one","delivery":"durable"}"#
    fleet.hosts["b"]?.client().call("send", send)
    fleet.turn(by: .seconds(5))
    #expect(fleet.store.rows(of: place.key(.box(host: "b"))).count == 1)
    fleet.kill("b")
    program.disconnect()
    fleet.turn(by: .seconds(300))
    #expect(holder == "a" && fleet.store.rows(of: place.key(.adopted)).count == 1)
    for _ in 0..<600 where fleet.written("a").isEmpty {
      fleet.accept("a")
      fleet.turn(by: .seconds(1))
    }
    #expect(fleet.written("a") == ["one []"])
    fleet.turn(by: .seconds(300))
    #expect(holder == "" && places("a") == [fleet.place])
  }

  @Test func theLinkToTheNamespaceThatTheConfigurationNamedBeforeIsGivenUp() throws {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    fleet.hosts["a"]?.reload { $0.upstreams["chat"]?.url = Self.moved }
    fleet.turn(by: .seconds(300))
    #expect(places("a") == [place] && holder == "a")
    #expect(fleet.store.text(fleet.place.key(.lease), "holder") == "")
  }

  private static var moved: UpstreamURL {
    var url = UpstreamURL(scheme: "http", host: "chat.example")
    url.path = "/a1"
    return url
  }
}
