import Testing

@testable import GatewayCore
@testable import gatewayd

/// How what the core reports reads in the log.
struct JournalFactTests {
  private let connection = ConnectionFact(
    connection: "u-1", upstream: "chat", url: "https://chat.example/", namespace: "/admin", reason: .unreachable,
    detail: "connection refused", attempt: 3, retryIn: 1_800)

  private func lines(_ fact: GatewayFact) -> [String] {
    FactLog.records(for: fact, at: .debug).map { "\($0.level.rawValue) \($0.text)" }
  }

  private func down(_ reason: DownReason?) -> LogLevel? {
    var fact = connection
    fact.reason = reason
    return FactLog.records(for: .connectionMoved(fact, from: .connected, to: .disconnected), at: .debug).first?.level
  }

  @Test func aLinkThatWasMovedToAnotherHostIsNoWarning() {
    var fact = connection
    (fact.reason, fact.isGivenAway) = (.fleet, true)
    let moved = GatewayFact.connectionMoved(fact, from: .connected, to: .disconnected)
    #expect(FactLog.records(for: moved, at: .debug).map(\.level) == [.info])
    #expect(down(.fleet) == .warning)
  }

  @Test func aLostConnectionSaysWhyAndWhatComesNext() {
    #expect(
      lines(.connectionMoved(connection, from: .reconnecting, to: .disconnected)) == [
        "warning connection down upstream=chat url=https://chat.example/ namespace=/admin connection=u-1"
          + " from=reconnecting reason=unreachable detail=\"connection refused\" attempt=3 retry_in=1800ms"
      ])
  }

  @Test func whatBecomesOfTheFleetsRedisIsToldWithItsWords() {
    let facts: [FleetReport] = [
      .reached(server: "r:1", version: "7.0.15"), .missed(.unreachable, detail: "r:1: connection refused"),
      .refused(upstream: "chat", detail: "no room"), .accepted(upstream: "chat"), .endangered("it forgets"),
      .unkept(upstream: "chat", namespace: "/", detail: "the disk is full"),
    ]
    #expect(
      facts.flatMap { lines(.fleet($0)) } == [
        "notice reached the Redis of the fleet version=7.0.15 url=r:1",
        "warning no Redis of the fleet can be used reason=unreachable detail=\"r:1: connection refused\"",
        "warning the Redis of the fleet refuses what an upstream needs upstream=chat detail=\"no room\"",
        "notice the Redis of the fleet refuses an upstream nothing any more upstream=chat",
        "warning the Redis of the fleet may forget what it has to keep detail=\"it forgets\"",
        "warning durable sends of this host are in the Redis of the fleet, and it cannot keep them upstream=chat"
          + " namespace=/ detail=\"the disk is full\"",
      ])
  }

  @Test func whoTakesALinkOrGivesItUpHasALine() {
    let facts: [FleetReport] = [
      .took(upstream: "chat", namespace: "/", term: 8, conversation: 21, from: "edge-3"),
      .took(upstream: "chat", namespace: "/", term: 1, conversation: 1, from: nil),
      .gaveUp(upstream: "chat", namespace: "/", term: 8, why: "edge-3 is to have it"),
    ]
    #expect(
      facts.flatMap { lines(.fleet($0)) } == [
        "notice has the link of an upstream for its fleet upstream=chat namespace=/ term=8 conversation=21 from=edge-3",
        "notice has the link of an upstream for its fleet upstream=chat namespace=/ term=1 conversation=1",
        "notice gave up the link of an upstream that its fleet shares upstream=chat namespace=/ term=8"
          + " detail=\"edge-3 is to have it\"",
      ])
  }

  @Test func aHostThatLeavesItsFleetOrReturnsHasALine() {
    let client = ClientFact(client: "c7", name: "gatewayctl", uid: 1_000, pid: 42)
    let facts: [GatewayFact] = [
      .fleetLeaveOrdered(client), .fleetLeaveFailed(client, upstream: "chat", detail: "No other host may have it."),
      .fleet(.left(["chat", "feed"])), .fleet(.left([])), .fleet(.returned),
    ]
    #expect(
      facts.flatMap(lines) == [
        "notice a client has this host leave its fleet's links to others client=c7 name=gatewayctl uid=1000 pid=42",
        "warning has not left its fleet's links to others client=c7 name=gatewayctl uid=1000 pid=42 upstream=chat"
          + " detail=\"No other host may have it.\"",
        "notice has left its fleet's links to others, and takes none links=chat,feed",
        "notice has left its fleet's links to others, and takes none links=none",
        "notice takes links of its fleet again",
      ])
  }

  @Test func theJournalHasTheNumberAlone() throws {
    let fact = GatewayFact.connectionMoved(connection, from: .reconnecting, to: .disconnected)
    let record = try #require(FactLog.records(for: fact, at: .debug).first)
    #expect(Journal.fields(of: record).contains("GATEWAY_RETRY_IN=1800"))
  }

  @Test func aConnectionThatIsMeantToBeDownIsNoWarning() {
    #expect([.idle, .requested, .draining].map { down($0) } == [.info, .info, .info])
    #expect([.refused, .kicked, .heartbeat, nil].map { down($0) } == [.warning, .warning, .warning, .warning])
  }

  @Test func comingUpIsToldAndTryingIsNot() {
    #expect(
      lines(.connectionMoved(connection, from: .created, to: .connected)) == [
        "info connected upstream=chat url=https://chat.example/ namespace=/admin connection=u-1"
      ])
    #expect(
      FactLog.records(for: .connectionMoved(connection, from: .disconnected, to: .reconnecting), at: .debug).map(
        \.level)
        == [.debug])
  }

  @Test func clientsAreNamedWithTheirUser() {
    let client = ClientFact(client: "c7", name: "backup.sh", uid: 1_000, pid: 42)
    #expect(FactLog.records(for: .clientAttached(client), at: .info) == [])
    #expect(lines(.clientAttached(client)) == ["debug client attached client=c7 name=backup.sh uid=1000 pid=42"])
    #expect(
      lines(.clientDropped(client, reason: "slow_consumer")) == [
        "warning client disconnected client=c7 name=backup.sh uid=1000 pid=42 reason=slow_consumer"
      ])
    #expect(
      lines(.quotaExceeded(uid: 1_000, quota: "clients")) == ["warning quota exceeded uid=1000 quota=clients"])
  }

  @Test func aFailedSendIsFoundByItsIDItsEventAndItsUser() {
    let send = SendFact(command: "m-7", event: "say", uid: 1_000)
    #expect(
      lines(.sendFailed(connection, send, outcome: "expired")) == [
        "warning send not delivered upstream=chat url=https://chat.example/ namespace=/admin connection=u-1"
          + " command=m-7 outcome=expired event=say uid=1000 reason=unreachable"
      ])
  }

  @Test func theStopSaysHowManySendsAreKept() {
    #expect(lines(.sendsKept(3)) == ["notice unfinished sends are kept in the outbox sends=3"])
  }

  @Test func whatWaitsForARestartIsSaidAfterAReload() {
    let old = Configuration()
    #expect(
      lines(.reloaded(ConfigurationChange(from: old, to: old))) == ["notice configuration reloaded changed=nothing"])
    var new = old
    new.socket.path = "/run/other.sock"
    new.state.path = "/var/other"
    new.log.level = .debug
    #expect(
      lines(.reloaded(ConfigurationChange(from: old, to: new))) == [
        "notice configuration reloaded changed=[socket],[log],[state]",
        "warning some changes of the configuration wait for a restart restart=socket.path,state.path",
      ])
  }

  @Test func anUpstreamThatIsCalledSocketNeedsNoRestart() {
    let old = Configuration()
    var new = old
    new.upstreams["socket"] = ConfiguredUpstream(
      url: UpstreamURL(scheme: "http", host: "h"), settings: UpstreamSettings())
    #expect(
      lines(.reloaded(ConfigurationChange(from: old, to: new))) == ["notice configuration reloaded changed=socket"])
  }

  @Test func aReloadThatIsNotDoneIsToldWithItsReason() {
    #expect(
      lines(.reloadIgnored) == [
        "warning configuration not read again, the daemon takes nothing new until it is started again"
      ])
  }

  @Test func everyProblemOfARefusedConfigurationIsToldWithItsPlace() {
    let problems = [3, 9].map { ConfigurationProblem(file: "/c.toml", line: $0, message: "no such setting") }
    #expect(
      lines(.reloadRefused(problems)) == [
        "error configuration refused, the old one stays in force file=/c.toml line=3 detail=\"no such setting\"",
        "error configuration refused, the old one stays in force file=/c.toml line=9 detail=\"no such setting\"",
      ])
  }
}
