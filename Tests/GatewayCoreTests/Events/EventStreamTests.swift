import Testing

@testable import GatewayCore

/// What all subscriptions of a connection are told at once.
@Suite struct EventStreamTests {
  private let harness = GatewayHarness()
  private let clients: [HarnessClient]

  /// As many subscriptions as one user may easily have, with states and answers, on a connection that is up.
  init() {
    clients = (0..<8).map { [harness] _ in harness.client() }
    for client in clients {
      for number in 0..<128 {
        client.call(
          "subscribe", #"{"upstream":"chat","state":true,"answer":true,"subscription":"own \#(number)"}"#)
      }
    }
    harness.upstream.channel.accept()
    for client in clients { client.read() }
    harness.gateway.seams.work.begin()
  }

  private static let told: [(String, @Sendable (FakeChannel) -> Void)] = [
    ("a bad event without a name", { $0.emit(DroppedEvent(.undecodable)) }),
    ("a bad event with one", { $0.emit(DroppedEvent(.undecodable, name: Array(#""e""#.utf8))) }),
    ("an event with a long name", { $0.emit(String(repeating: "n", count: 1_100)) }),
    ("an event that wants an answer", { for id: UInt64 in [1, 2] { $0.emit("e", ack: id) } }),
    ("events", { for _ in 1...2 { $0.emit("e") } }),
    ("another state", { $0.fail(.closed) }),
  ]

  @Test(arguments: told.indices) func whatAThousandSubscriptionsAreToldIsWorkToLookAtTheClockAfter(_ index: Int) {
    let (what, happens) = Self.told[index]
    happens(harness.upstream.channel)
    #expect(harness.gateway.seams.work.isMuch, "\(what)")
    for client in clients { #expect(client.read().count >= 128) }
  }

  @Test func whatAllAreToldStandsUnderTheIdOfEach() {
    let epoch = harness.gateway.upstreams.pool.all[0].stream.epoch
    harness.upstream.channel.emit(DroppedEvent(.undecodable, detail: #"a "bad" one"#))
    for client in clients {
      let expected = (0..<128).map {
        #"{"jsonrpc":"2.0","method":"gap","params":{"subscription":"own \#($0)","epoch":"\#(epoch)","from":1,"to":1,"#
          + #""count":1,"reason":"undecodable","detail":"a \"bad\" one"}}"#
      }
      #expect(client.read() == expected)
    }
    harness.upstream.channel.fail(.closed)
    let states = clients[0].read()
    #expect(states.count { $0.contains(#""subscription":"own 127","state":"disconnected","#) } == 1)
  }

  @Test func allAreToldInTheOrderOfTheirAge() {
    clients[0].call("unsubscribe", #"{"subscription":"own 5"}"#)
    clients[0].call("subscribe", #"{"upstream":"chat","subscription":"own 5"}"#)
    harness.upstream.channel.emit(DroppedEvent(.undecodable))
    let told = clients[0].readValues().compactMap { $0["params"]?["subscription"]?.stringValue }
    #expect(told == (0..<128).filter { $0 != 5 }.map { "own \($0)" } + ["own 5"])
  }
}
