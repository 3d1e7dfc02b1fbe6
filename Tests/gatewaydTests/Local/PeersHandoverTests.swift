import Testing

@testable import GatewayCore
@testable import gatewayd

/// Sockets of an earlier daemon's clients.
@Suite struct PeersHandoverTests {
  private typealias Client = LocalClientFixture

  /// A connection whose other end an earlier daemon had accepted.
  private func connection(isWithinLine: Bool = false) throws -> (client: LocalClientFixture, HandoverParcel.Socket) {
    let (own, other) = try Descriptors.pair()
    return (LocalClientFixture(socket: own), .init(descriptor: other, isWithinLine: isWithinLine))
  }

  private func client(output: String = "", input: String = "", isClosing: Bool = false) -> HandoverDocument.Client {
    HandoverDocument.Client(
      socket: 0, name: "n", since: 1, nextSubscription: 1, nextTrace: 1, input: Array(input.utf8),
      output: Array(output.utf8), isClosing: isClosing, calls: [])
  }

  private func isGoodbye(_ line: String?) -> Bool {
    line?.contains(#""method":"goodbye""#) == true && line?.contains(#""reason":"restarting""#) == true
  }

  @Test func aClientBeyondTheLimitsGetsWhatItWasBeingSentAndAGoodbye() throws {
    let fixture = try LocalServerFixture { $0.limits.clientsPerUser = 1 }
    let (first, second) = (try connection(), try connection(isWithinLine: true))
    #expect(fixture.server.takeOver(client(), on: first.1) == .goesOn)
    let unread = client(output: "rest\"}\n{\"a\":1}\n", input: Client.ping(7))
    #expect(fixture.server.takeOver(unread, on: second.1) == .told)
    var lines: [String] = []
    #expect(
      try fixture.turn {
        lines += second.client.lines()
        return second.client.isEnded
      })
    #expect(lines.dropLast() == ["rest\"}", "{\"a\":1}"] && isGoodbye(lines.last))
    first.client.send(Client.ping(1))
    #expect(try fixture.turn { first.client.lines() == [Client.pong(1)] })
  }

  @Test func clientsThatOnlyGetTheirLastWordsTakeNoPlaceFromThoseThatGoOn() throws {
    let fixture = try LocalServerFixture { $0.limits.clientsPerUser = 1 }
    let (closing, unknown, third) = (try connection(), try connection(), try connection())
    #expect(fixture.server.takeOver(client(output: "{}\n", isClosing: true), on: closing.1) == .goesOn)
    #expect(fixture.server.turnAway(unknown.1) == .told)
    #expect(fixture.server.takeOver(client(), on: third.1) == .goesOn)
    third.client.send(Client.ping(1))
    #expect(try fixture.turn { third.client.lines() == [Client.pong(1)] })
    var (last, told): ([String], [String]) = ([], [])
    #expect(
      try fixture.turn {
        last += closing.client.lines()
        told += unknown.client.lines()
        return closing.client.isEnded && unknown.client.isEnded
      })
    #expect(last == ["{}"] && told.count == 1 && isGoodbye(told.first))
  }

  @Test func placesOfThoseThatWentOnAreFreeWhenTheyLeave() throws {
    let fixture = try LocalServerFixture { $0.limits.clientsPerUser = 1 }
    let (first, second) = (try connection(), try connection())
    #expect(fixture.server.takeOver(client(), on: first.1) == .goesOn)
    #expect(fixture.server.takeOver(client(), on: second.1) == .told)
    #expect(
      try fixture.turn {
        second.client.receive()
        return second.client.isEnded
      })
    second.client.close()
    let refused = try fixture.connect()
    #expect(try fixture.turn { refused.lines().first?.contains("QuotaExceeded") == true })
    refused.close()
    first.client.close()
    #expect(try fixture.turn { fixture.server.clientCount == 0 })
    let newcomer = try fixture.connect()
    newcomer.send(Client.ping(1))
    #expect(try fixture.turn { newcomer.lines() == [Client.pong(1)] })
  }
}
