import Testing

@testable import GatewayCore

/// What a fleet keeps of its server's session and clock, on whichever host the link is.
@Suite struct FleetSessionTests {
  private let fleet = FleetGateways()

  /// The holder's link, of which the server keeps a session.
  private func link() throws -> FakeChannel {
    fleet.startTwo()
    let channel = try #require(fleet.hosts["a"]?.upstream.channels.last)
    channel.sessionPlace = SessionPlace(session: "s", offset: "1")
    return channel
  }

  private func move() throws {
    try #require(fleet.hosts["b"]).client(uid: 0).call("fleet.move", #"{"upstream":"chat","host":"b"}"#)
    fleet.turn(by: .seconds(10))
  }

  @Test func aLinkThatGoesToAnotherHostLeavesTheServersSessionToIt() throws {
    let channel = try link()
    try move()
    #expect(channel.isSuspended)
  }

  @Test func aHostThatStopsLeavesTheServersSessionToTheNext() throws {
    let channel = try link()
    try #require(fleet.hosts["a"]).gateway.stop(reason: "test") {}
    fleet.turn(by: .seconds(5))
    #expect(channel.isSuspended)
  }

  @Test func aLinkOfWhoseSessionNothingCouldBeRecoveredIsClosedInOrder() throws {
    let channel = try link()
    channel.sessionPlace?.offset = nil
    try move()
    #expect(channel.isClosed && !channel.isSuspended)
  }

  /// The server would take the conversation for one that goes on.
  @Test func aConversationOnALinkThatLivesOnForOthersIsClosedInOrder() throws {
    let channel = try link()
    channel.sharesLink = true
    try move()
    #expect(channel.isClosed && !channel.isSuspended)
  }

  @Test func aLinkThatStaysWithItsHostIsClosedInOrder() throws {
    let channel = try link()
    try #require(fleet.hosts["a"]).client(uid: 0).call("disconnect", #"{"upstream":"chat"}"#)
    #expect(channel.isClosed && !channel.isSuspended)
  }

  // MARK: - Time

  private func subscribe(_ host: String) throws -> HarnessClient {
    let program = try #require(fleet.hosts[host]).client()
    program.call("subscribe", #"{"upstream":"chat"}"#)
    fleet.turn(by: .seconds(1))
    program.read()
    return program
  }

  /// The server's clock is so many milliseconds ahead, as a host's link tells.
  private func tell(_ host: String, lead: Int64) throws {
    let shown = (fleet.time.wallMilliseconds + lead) * 1_000_000
    let now = fleet.time.now
    let sample = ClockSample(.request, shown: shown...shown, notBefore: now, notAfter: now)
    try #require(fleet.hosts[host]?.upstream.channels.last).tell(try #require(sample))
  }

  /// By how much the time of an event that a host's link brings now is ahead of the wall clock, as programs are told it.
  private func lead(_ host: String, _ programs: HarnessClient...) -> [Int64] {
    let wall = fleet.time.wallMilliseconds
    fleet.hosts[host]?.upstream.channels.last?.emit("e")
    fleet.turn(by: .seconds(1))
    return programs.flatMap { program in
      program.readValues().filter { $0["method"]?.stringValue == "event" }
        .compactMap { $0["params"]?["time"]?.integerValue.map { Int64($0) - wall } }
    }
  }

  @Test func eventsHaveTheServersTimeOnEveryHost() throws {
    fleet.startTwo()
    let (one, other) = (try subscribe("a"), try subscribe("b"))
    #expect(lead("a", one, other) == [0, 0])
    try tell("a", lead: 3_600_000)
    #expect(lead("a", one, other) == [3_600_000, 3_600_000])
  }

  @Test func timeDoesNotRunBackwardsWhereTheNextHostDoesNotKnowTheServersYet() throws {
    fleet.startTwo()
    let program = try subscribe("b")
    try tell("a", lead: 3_600_000)
    #expect(lead("a", program) == [3_600_000])
    let before = fleet.time.wallMilliseconds
    try fleet.takeOver(recovered: true)
    let passed = fleet.time.wallMilliseconds - before + 1_000
    // Both clocks are read in whole milliseconds.
    #expect(try abs(#require(lead("b", program).first) - (3_600_000 - passed)) <= 1)
    try tell("b", lead: 3_600_000)
    #expect(lead("b", program) == [3_600_000])
  }
}
