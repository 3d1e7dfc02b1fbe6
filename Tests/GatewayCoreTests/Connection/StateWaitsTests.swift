import Testing

@testable import GatewayCore

/// Very many calls that wait for the same state.
@Suite struct StateWaitsTests {
  private static let clientCount = 10
  private static let each = 200

  private let harness = GatewayHarness()
  private let clients: [HarnessClient]

  /// Each of the clients waits as often for a connection that is not up.
  init() {
    clients = (0..<Self.clientCount).map { [harness] _ in harness.client() }
    for client in clients {
      for number in 1...Self.each {
        client.call("wait", #"{"upstream":"chat","state":"connected","timeout":5000}"#, id: number)
      }
    }
  }

  /// How many were answered in each turn of the loop, from this one on, and what each client was answered.
  private func answers() -> (counts: [Int], values: [[JSONValue]]) {
    var (counts, values): ([Int], [[JSONValue]]) = ([], Array(repeating: [], count: clients.count))
    repeat {
      var count = 0
      for (index, client) in clients.enumerated() {
        let new = client.readValues().filter { $0["id"] != nil }
        values[index] += new
        count += new.count
      }
      counts.append(count)
      harness.timers.fire()
    } while counts.last != 0
    return (counts.dropLast(), values)
  }

  private func isAnswered(_ values: [[JSONValue]]) -> Bool {
    values.allSatisfy { values in
      values.compactMap { $0["id"]?.integerValue } == Array(1...Self.each)
        && values.allSatisfy { $0["result"]?["state"] == .string("connected") }
    }
  }

  @Test func aStateThatManyWaitForIsToldAPortionInEachTurn() {
    harness.upstream.channel.accept()
    let (counts, values) = answers()
    #expect(counts == [500, 500, 500, 500] && isAnswered(values))
  }

  @Test func aStateThatIsOverByThenIsToldAllTheSame() {
    harness.upstream.channel.accept()
    harness.upstream.channel.fail(.closed)
    // Also where the time of the calls is over by then.
    harness.time.advance(by: .seconds(10))
    #expect(isAnswered(answers().values))
  }

  @Test func otherStatesAndOtherConnectionsAreNoneOfTheirBusiness() {
    harness.upstream.channel.fail(.closed)
    harness.client().call("subscribe", #"{"url":"http://other.example"}"#)
    harness.upstream.channel.accept()
    #expect(answers().counts.isEmpty)
  }

  @Test func oneThatLeavesMeanwhileCostsTheOthersNothing() {
    harness.upstream.channel.accept()
    clients[7].disconnect()
    let values = answers().values
    #expect(isAnswered(values.enumerated().filter { $0.offset != 7 }.map(\.element)))
  }

  @Test(arguments: [true, false]) func aStopThatComesMeanwhileTellsTheState(_ isHandingOver: Bool) {
    harness.upstream.channel.accept()
    harness.gateway.stop(reason: "test", handingOver: isHandingOver) {}
    #expect(isAnswered(answers().values))
    harness.pass(.seconds(30))
  }
}
