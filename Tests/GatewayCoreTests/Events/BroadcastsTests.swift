import Testing

@testable import GatewayCore

/// What thousands of subscriptions of one connection are told.
@Suite struct BroadcastsTests {
  private let harness = GatewayHarness()
  private let clients: [HarnessClient]
  private static let ofEach = 125

  /// Four portions of subscriptions, half of them with states, on a connection that is up.
  init() {
    let count = Broadcasts.portion * 4 / Self.ofEach
    clients = (0..<count).map { [harness] _ in harness.client() }
    for client in clients {
      for number in 0..<Self.ofEach {
        client.call("subscribe", #"{"upstream":"chat","state":\#(number % 2 == 0),"subscription":"own \#(number)"}"#)
      }
    }
    harness.upstream.channel.accept()
    harness.pass(.zero)
    for client in clients { client.read() }
  }

  /// What each client has read of a turn.
  private func told() -> Int { clients.reduce(0) { $0 + $1.read().count } }

  @Test func aStateDoesNotHoldTheLoopUntilThousandsOfSubscriptionsAreTold() {
    harness.upstream.channel.fail(.closed)
    var turns = [told()]
    while turns.last != 0 {
      harness.timers.fire()
      turns.append(told())
    }
    // About half of a portion want it.
    #expect(turns.max() ?? 0 <= Broadcasts.portion * 2 / 3, "\(turns)")
    #expect(turns.reduce(0, +) == clients.count * (Self.ofEach + 1) / 2)
  }

  @Test func aGapDoesNotHoldTheLoopUntilThousandsOfSubscriptionsAreTold() {
    harness.upstream.channel.emit(DroppedEvent(.undecodable))
    var turns = [told()]
    while turns.last != 0 {
      harness.timers.fire()
      turns.append(told())
    }
    #expect(turns.max() ?? 0 <= Broadcasts.portion, "\(turns)")
    #expect(turns.reduce(0, +) == clients.count * Self.ofEach)
  }

  @Test func nothingOvertakesAStateOrAGapThatSubscriptionsStillHaveToBeTold() {
    harness.upstream.channel.emit(DroppedEvent(.undecodable))
    harness.upstream.channel.emit("said")
    harness.upstream.channel.emit(DroppedEvent(.undecodable, name: Array(#""said""#.utf8)))
    harness.upstream.channel.fail(.closed)
    harness.timers.fire()
    harness.upstream.channel.fail(.closed)
    harness.pass(.milliseconds(1))
    for client in clients {
      var kinds: [String: [String]] = [:]
      for line in client.readValues() {
        guard let params = line["params"], let id = params["subscription"]?.stringValue else { continue }
        kinds[id, default: []].append(line["method"]?.stringValue ?? "")
      }
      #expect(kinds["own 0"] == ["gap", "event", "gap", "state"])
      #expect(kinds["own 1"] == ["gap", "event", "gap"])
      #expect(kinds.count == Self.ofEach)
    }
  }

  @Test func aSubscriptionThatBeginsMeanwhileIsToldNothingOfBefore() {
    harness.upstream.channel.emit(DroppedEvent(.undecodable))
    let last = harness.client()
    last.call("subscribe", #"{"upstream":"chat","state":true}"#)
    clients[clients.count - 1].call("unsubscribe", #"{"subscription":"own 3"}"#)
    harness.pass(.zero)
    #expect(last.read() == [])
    harness.upstream.channel.fail(.closed)
    harness.pass(.zero)
    #expect(last.read().count == 1)
  }

  @Test func aServerThatBreaksTheRulesAgainAndAgainLetsNotMoreAndMoreWait() {
    for _ in 0...Broadcasts.limit { harness.upstream.channel.emit(DroppedEvent(.undecodable)) }
    #expect(told() == (Broadcasts.limit + 1) * clients.count * Self.ofEach)
  }

  @Test func aStopTellsEverybodyAtOnce() {
    harness.gateway.stop(reason: "test") {}
    harness.pass(.seconds(10))
    for client in clients {
      let lines = client.read()
      #expect(lines.count { $0.contains(#""method":"state""#) } == (Self.ofEach + 1) / 2)
      #expect(lines.last?.contains("goodbye") == true)
    }
  }
}
