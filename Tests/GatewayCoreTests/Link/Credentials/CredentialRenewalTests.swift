import Testing

@testable import GatewayCore

/// What new credentials do to a connection, seen from the gateway's door.
@Suite struct CredentialRenewalTests {
  private func connected(_ harness: GatewayHarness) -> HarnessClient {
    let client = harness.client(uid: 0)
    client.call("subscribe", #"{"upstream":"chat","state":true}"#)
    harness.upstream.channel.accept()
    client.read()
    return client
  }

  private func states(_ client: HarnessClient) -> [String] {
    client.readValues().compactMap { note in
      guard note["method"]?.stringValue == "state", let params = note["params"] else { return nil }
      return [params["state"], params["reason"]].compactMap { $0?.stringValue }.joined(separator: " ")
    }
  }

  @Test func connectionIsJoinedAnewAtOnceAndSaysWhy() {
    let harness = GatewayHarness()
    let client = connected(harness)
    let old = harness.upstream.channel
    old.renewCredentials()
    #expect(old.isClosed && harness.upstream.channels.count == 2)
    harness.upstream.channel.accept()
    #expect(states(client) == ["disconnected auth", "reconnecting auth", "connected"])
  }

  @Test func whatIsSentMeanwhileLeavesAfterwards() {
    let harness = GatewayHarness()
    let client = connected(harness)
    harness.upstream.channel.renewCredentials()
    client.call("send", #"{"upstream":"chat","event":"a","args":[1]}"#)
    #expect(harness.upstream.channel.written == [])
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["a [1]"])
  }

  @Test func anAwaitedAcknowledgementIsWaitedFor() {
    let harness = GatewayHarness()
    let client = connected(harness)
    let old = harness.upstream.channel
    client.call("request", #"{"upstream":"chat","event":"a","timeout":60000}"#)
    old.renewCredentials()
    harness.pass(.seconds(1))
    #expect(!old.isClosed)
    old.acknowledge(0, "5")
    harness.pass(.seconds(1))
    #expect(old.isClosed && harness.upstream.channels.count == 2)
  }

  @Test func anAcknowledgementThatDoesNotComeIsWaitedForFiveSecondsOnly() {
    let harness = GatewayHarness()
    let client = connected(harness)
    let old = harness.upstream.channel
    client.call("request", #"{"upstream":"chat","event":"a","timeout":60000}"#)
    old.renewCredentials()
    harness.pass(.seconds(6))
    #expect(old.isClosed && harness.upstream.channels.count == 2)
  }

  @Test(arguments: [
    UpstreamFailure(.refused, "no"), UpstreamFailure(.auth, "no"), UpstreamFailure(.http, "no", status: 401),
  ])
  func newCredentialsHastenTheNextAttempt(_ failure: UpstreamFailure) {
    let harness = GatewayHarness()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.fail(failure)
    #expect(harness.upstream.channels.count == 1)
    harness.upstream.changeCredentials()
    #expect(harness.upstream.channels.count == 2)
  }

  @Test func otherFailuresDoNotWaitForCredentials() {
    let harness = GatewayHarness()
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.fail(.http)
    harness.upstream.changeCredentials()
    #expect(harness.upstream.channels.count == 1)
  }

  @Test func statusThatRefusesHasTheSlowerScheduleOfARefusal() {
    var backoff = Backoff(settings: ReconnectSettings())
    let refused = backoff.failed(.refused, lasted: nil, fraction: 0.5)
    for status in [401, 403] {
      var backoff = Backoff(settings: ReconnectSettings())
      #expect(backoff.failed(.http, status: status, lasted: nil, fraction: 0.5) == refused)
    }
    backoff = Backoff(settings: ReconnectSettings())
    #expect(backoff.failed(.http, status: 500, lasted: nil, fraction: 0.5) < refused)
  }
}
