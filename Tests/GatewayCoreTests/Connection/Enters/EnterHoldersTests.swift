import Testing

@testable import GatewayCore

/// What programs that have gone leave behind of what they entered.
@Suite struct EnterHoldersTests {
  private let harness = GatewayHarness()

  private var channel: FakeChannel { harness.upstream.channel }

  /// Subscribes with a message and a long one that undoes it. Returns the client, and whether that was refused for want
  /// of room.
  private func subscriber(_ number: Int, uid: UInt32 = 2) -> (client: HarnessClient, isRefused: Bool) {
    let leave = #"{"event":"leave","args":[\#(number),"\#(String(repeating: "x", count: 250 << 10))"]}"#
    let client = harness.client(uid: uid)
    let answer = client.call(
      "subscribe", #"{"upstream":"chat","enter":[{"event":"join","args":[\#(number)]}],"leave":[\#(leave)]}"#)
    let error = HarnessClient.values(answer).first { $0["error"] != nil }?["error"]?["data"]
    return (client, error?["quota"]?.stringValue == "filter_bytes")
  }

  private func enters(_ count: Int) -> String {
    let enters = (0..<count).map { #"{"event":"join","args":[\#($0)]}"# }.joined(separator: ",")
    return #"{"upstream":"chat","enter":[\#(enters)]}"#
  }

  /// How many of so many programs, one after the other, find room.
  private func comeAndGo(_ count: Int) -> Int {
    (0..<count).count {
      let (client, isRefused) = subscriber($0)
      client.disconnect()
      return !isRefused
    }
  }

  @Test func aUserWhoComesAndGoesWhileTheLinkIsDownTakesNoMoreMemoryThanTheUsersShare() {
    let stays = harness.client(uid: 3)
    stays.call("subscribe", #"{"upstream":"chat"}"#)
    let first = harness.client(uid: 2)
    first.call("subscribe", enters(40))
    channel.accept()
    channel.fail(.closed)
    first.disconnect()
    #expect(comeAndGo(40) == 32)
    // The same one again takes the place of what it left.
    let again = subscriber(7, uid: 4)
    #expect(!again.isRefused)
    again.client.disconnect()
    // What was left behind is undone, and takes nothing from then on.
    harness.pass(.seconds(60))
    channel.isRecovered = true
    channel.accept()
    harness.pass(.seconds(5))
    #expect(channel.written.count { $0.hasPrefix("leave") } == 32)
    #expect(comeAndGo(40) == 40)
  }

  @Test func whatUndoesAnothersRoomCountsForTheUserWhoNamedIt() {
    let other = harness.client(uid: 3)
    other.call("subscribe", enters(40))
    channel.accept()
    #expect(comeAndGo(40) == 32)
    #expect(!subscriber(39, uid: 4).isRefused)
    other.disconnect()
    #expect(comeAndGo(40) == 40)
  }
}
