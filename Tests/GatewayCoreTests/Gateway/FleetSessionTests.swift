import Testing

@testable import GatewayCore

/// What a fleet keeps of its server's session when the link goes to another host.
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
}
