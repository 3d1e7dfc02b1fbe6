import Testing

@testable import GatewayCore

/// Sends with `retries` where more than one may be under way.
@Suite struct RetryWindowTests {
  private let harness = GatewayHarness { $0.upstreams["chat"]?.settings.retryWindow = 3 }

  private var written: [String] { harness.upstream.channel.written }

  private func connected() -> HarnessClient {
    let client = harness.client()
    client.call("send", #"{"upstream":"chat","event":"hi"}"#)
    harness.upstream.channel.accept()
    return client
  }

  private func request(_ client: HarnessClient, _ number: Int, retries: Int = 3) {
    client.call(
      "request",
      #"{"upstream":"chat","event":"e","args":[\#(number)],"retries":\#(retries),"ack_timeout":100,"timeout":60000}"#,
      id: number)
  }

  private func answers(_ client: HarnessClient) -> [Int] {
    client.readValues().compactMap { $0["result"] == nil ? nil : $0["id"]?.integerValue }
  }

  @Test func asManyAreUnderWayAsTheWindowHolds() {
    let client = connected()
    for number in 1...5 { request(client, number) }
    #expect(written == ["hi []", "e [1]#0", "e [2]#1", "e [3]#2"])
    harness.upstream.channel.acknowledge(1)
    #expect(written.last == "e [4]#3")
    harness.upstream.channel.acknowledge(0)
    harness.upstream.channel.acknowledge(2)
    #expect(written == ["hi []", "e [1]#0", "e [2]#1", "e [3]#2", "e [4]#3", "e [5]#4"])
    harness.upstream.channel.acknowledge(3)
    harness.upstream.channel.acknowledge(4)
    #expect(answers(client) == [2, 1, 3, 4, 5])
    #expect(harness.gateway.upstreams.pool.all[0].delivery.commands.isIdle)
  }

  @Test func afterALostLinkTheWholeWindowIsWrittenAgainInOrder() {
    let client = connected()
    for number in 1...5 { request(client, number) }
    harness.upstream.channel.acknowledge(1)
    harness.upstream.channel.fail(.closed)
    client.call("send", #"{"upstream":"chat","event":"plain"}"#, id: 9)
    harness.pass(.seconds(2))
    harness.upstream.channel.accept()
    #expect(written == ["e [1]#4", "e [3]#5", "e [4]#6", "plain []"])
    harness.upstream.channel.acknowledge(5)
    #expect(written.last == "e [5]#7")
  }

  @Test func silenceAboutOneRepeatsThatOneAlone() {
    let client = connected()
    request(client, 1)
    request(client, 2)
    harness.upstream.channel.acknowledge(1)
    harness.pass(.milliseconds(100))
    #expect(written == ["hi []", "e [1]#0", "e [2]#1", "e [1]#2"])
    harness.upstream.channel.acknowledge(0)
    #expect(answers(client) == [2, 1])
  }

  @Test func oneThatIsGivenUpMakesRoom() {
    let client = connected()
    for number in 1...4 { request(client, number, retries: number == 1 ? 0 : 3) }
    harness.pass(.milliseconds(100))
    #expect(written == ["hi []", "e [1]#0", "e [2]#1", "e [3]#2", "e [4]#3", "e [2]#4", "e [3]#5"])
  }
}
