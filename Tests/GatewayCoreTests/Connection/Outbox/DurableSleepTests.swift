import Testing

@testable import GatewayCore

/// Durable sends on a machine that sleeps meanwhile.
@Suite final class DurableSleepTests: DurableScene {
  /// While `a` is not acknowledged: nothing more is written to that link, and the next one opens.
  private func sleepPastTheHeartbeat() {
    let old = harness.upstream.channel
    old.isOverdue = true
    harness.sleep(.seconds(600))
    harness.pass(.seconds(4))
    #expect(old.written == ["hi []", "a []#0"])
    harness.upstream.channel.accept()
  }

  @Test func sendThatIsNotAcknowledgedWhenTheHeartbeatIsOverdueIsNotWrittenAgainToThatLinkAndIsNotLost() {
    connect()
    send("a", #","retries":1"#)
    store.settle()
    sleepPastTheHeartbeat()
    #expect(written == ["a []#1"])
    harness.upstream.channel.acknowledge(1)
    store.settle()
    #expect(states() == ["a acked"])
  }

  @Test func sendBehindOneThatIsGivenUpIsNotWrittenToALinkWhoseHeartbeatIsOverdue() {
    connect()
    send("a", #","retries":0"#)
    send("b", #","retries":0"#, id: 2)
    store.settle()
    sleepPastTheHeartbeat()
    #expect(written == ["b []#1"])
  }

  @Test func acknowledgementThatCameWhileTheMachineSleptIsReadBeforeTheSendIsLost() {
    connect()
    send("a", #","retries":0"#)
    store.settle()
    harness.sleep(.seconds(20))
    harness.upstream.channel.acknowledge(0)
    store.settle()
    #expect(states() == ["a acked"])
  }

  @Test func sendThatIsStillNotAcknowledgedAMomentAfterTheMachineSleptIsLost() {
    connect()
    send("a", #","retries":0"#)
    store.settle()
    harness.sleep(.seconds(20))
    harness.pass(.seconds(1))
    #expect(states() == ["a lost"])
  }

  @Test func machineThatSleepsWhileTheDiskWritesFailsNoSend() {
    connect()
    send("a")
    harness.sleep(.seconds(20))
    #expect(client.read().isEmpty)
    store.settle()
    #expect(HarnessClient.values(client.read()).first?["result"]?["state"]?.stringValue == "durable")
    #expect(written == ["hi []", "a []"])
  }

  @Test func sendThatIsOnDiskWhenTheHeartbeatIsOverdueLeavesWithTheNextLinkAndIsNotLost() {
    connect()
    send("a")
    let old = harness.upstream.channel
    harness.sleep(.seconds(20))
    old.isOverdue = true
    store.settle()
    #expect(HarnessClient.values(client.read()).first?["result"]?["state"]?.stringValue == "durable")
    #expect(old.written == ["hi []"])
    harness.pass(.seconds(2))
    #expect(harness.upstream.channels.count == 2)
    harness.upstream.channel.accept()
    #expect(harness.upstream.channel.written == ["a []"])
  }

  @Test func diskThatDoesNotAnswerAfterASleepEither() {
    send("a")
    harness.sleep(.seconds(20))
    harness.pass(.seconds(1))
    #expect(Self.error(client.read()) == "InternalError")
  }
}
