import Testing

@testable import GatewayCore

/// Whether there may be a way to a server.
@Suite struct NetworkReachTests {
  private let away = NetworkPath.interface(2, source: [10, 0, 0, 1])

  private func way(
    to hosts: [String], last: String? = nil, _ arrange: (FakeNetwork) -> Void
  ) -> NetworkReach.Way {
    let network = FakeNetwork()
    network.paths = [:]
    network.hasUsableInterface = false
    arrange(network)
    var reach = NetworkReach()
    reach.lastAddress = last
    reach.look(at: network, hosts: hosts)
    return reach.way
  }

  @Test func aNumericAddressIsReachableByItsOwnRouteAlone() {
    #expect(way(to: ["10.9.9.9"]) { $0.paths["10.9.9.9"] = away } == .path(away))
    #expect(way(to: ["10.9.9.9"]) { $0.paths["203.0.113.1"] = away } == .none)
  }

  @Test func whatIsOnThisMachineIsReachableWithoutANetwork() {
    #expect(way(to: ["localhost"]) { $0.paths["127.0.0.1"] = .here } == .path(.here))
    #expect(way(to: ["10.0.0.1"]) { $0.paths["10.0.0.1"] = .here } == .path(.here))
    let file = way(to: ["own.example"]) {
      $0.hostsFile["own.example"] = ["127.0.1.1"]
      $0.paths["127.0.1.1"] = .here
    }
    #expect(file == .path(.here))
  }

  @Test func aNameThatWasNeverResolvedIsTriedWithAnyNetwork() {
    #expect(way(to: ["chat.example"]) { $0.hasUsableInterface = true } == .unknown)
    #expect(way(to: ["chat.example"]) { _ in } == .none)
  }

  @Test func aNameGoesByItsLastAddressOrByADefaultRoute() {
    #expect(way(to: ["chat.example"], last: "10.9.9.9") { $0.paths["10.9.9.9"] = away } == .path(away))
    #expect(way(to: ["chat.example"], last: "10.9.9.9") { $0.paths["2001:db8::1"] = away } == .unknown)
    // A bridge to containers is no network to a server elsewhere.
    #expect(way(to: ["chat.example"], last: "10.9.9.9") { $0.hasUsableInterface = true } == .none)
  }

  @Test func oneReachableHostOfSeveralIsEnough() {
    #expect(way(to: ["10.9.9.9", "10.8.8.8"]) { $0.paths["10.8.8.8"] = away } == .path(away))
  }

  @Test func withoutAnObserverEverythingCountsAsReachable() {
    var reach = NetworkReach()
    reach.look(at: nil, hosts: ["10.9.9.9"])
    #expect(reach.isUp)
  }
}
