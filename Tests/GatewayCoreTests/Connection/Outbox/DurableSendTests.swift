import Testing

@testable import GatewayCore

/// Sends with `delivery: durable`, on a disk that the test plays.
@Suite final class DurableSendTests: DurableScene {
  @Test func answerComesWithTheCommitAndNotBefore() {
    #expect(send("a").isEmpty)
    store.settle()
    let answer = HarnessClient.values(client.read()).first?["result"]
    #expect(answer?["state"]?.stringValue == "durable")
    #expect(answer?["id"]?.stringValue == store.stored.first?.id)
  }

  @Test func sendThatWasAnsweredHoldsNothingOfItsCallWhileItWaits() {
    send("a", id: 7)
    let command = harness.gateway.upstreams.pool.all[0].delivery.commands.queue.first
    #expect(command?.requestID == RequestID(value: .integer(7), text: []))
    store.settle()
    #expect(HarnessClient.values(client.read()).first?["id"]?.integerValue == 7)
    #expect(command?.isQueued == true && command?.call == nil)
  }

  @Test func nothingFlowsPastWhatIsNotOnDisk() {
    connect()
    send("a", id: 1)
    send("b", id: 2, durable: false)
    send("c", id: 3)
    #expect(written == ["hi []"])
    store.settle(1)
    #expect(written == ["hi []", "a []", "b []"])
    store.settle()
    #expect(written == ["hi []", "a []", "b []", "c []"])
  }

  /// The clock that would have told of it has rung meanwhile.
  @Test func sendWhoseTimePassedWhileTheKernelDidNotTakeItExpiresWhenTheLinkEnds() {
    connect()
    harness.upstream.channel.unsentBytes = 10
    send("a", #","ttl":1000"#)
    store.settle()
    #expect(written == ["hi []", "a []"])
    harness.pass(.seconds(2))
    harness.upstream.channel.fail(UpstreamFailure(.closed, "gone"))
    harness.pass(.milliseconds(1))
    #expect(states() == ["a expired"])
  }

  @Test func callOfAnotherProgramDoesNotWaitForTheDisk() {
    connect()
    let other = harness.client()
    send("a", id: 1)
    other.call("request", #"{"upstream":"chat","event":"ask"}"#)
    #expect(written == ["hi []", "ask []#0"])
    store.settle()
    #expect(written == ["hi []", "ask []#0", "a []"])
  }

  @Test func callWaitsBehindItsOwnProgramsDurableSend() {
    connect()
    send("a", id: 1)
    client.call("request", #"{"upstream":"chat","event":"ask"}"#, id: 2)
    #expect(written == ["hi []"])
    store.settle()
    #expect(written == ["hi []", "a []", "ask []#0"])
  }

  @Test func callOfAnotherProgramWaitsBehindWhatWasAccepted() {
    connect()
    let other = harness.client()
    send("a", id: 1)
    send("b", id: 2, durable: false)
    other.call("request", #"{"upstream":"chat","event":"ask"}"#)
    #expect(written == ["hi []"])
    store.settle()
    #expect(written == ["hi []", "a []", "b []", "ask []#0"])
  }

  @Test func callWaitsBehindADurableNotification() {
    connect()
    let other = harness.client()
    client.say(
      #"{"jsonrpc":"2.0","method":"send","params":{"upstream":"chat","event":"a","delivery":"durable"}}"#)
    other.call("request", #"{"upstream":"chat","event":"ask"}"#)
    #expect(written == ["hi []"])
    store.settle()
    #expect(written == ["hi []", "a []", "ask []#0"])
  }

  @Test func refusedByTheDiskItLeavesItsPlaceAndTheRestFlows() {
    connect()
    send("a", id: 1)
    send("b", id: 2, durable: false)
    store.problem = StorageProblem(.full, "the disk is full")
    store.settle()
    let lines = HarnessClient.values(client.read())
    #expect(lines.compactMap { $0["error"]?["data"]?["reason"]?.stringValue } == ["full"])
    #expect(written == ["hi []", "b []"])
    #expect(harness.gateway.relay.outbox.rows.condition == .failing(StorageProblem(.full, "the disk is full")))
    #expect(harness.facts.contains(.outbox(StorageProblem(.full, "the disk is full"))))
    store.problem = nil
    send("c", id: 3)
    store.settle()
    #expect(harness.gateway.relay.outbox.rows.condition == .working)
    #expect(written == ["hi []", "b []", "c []"])
  }

  @Test func diskThatDoesNotAnswerEndsTheCall() {
    connect()
    send("a", id: 1)
    harness.pass(.seconds(11))
    #expect(Self.error(client.read()) == "InternalError")
    store.settle()
    #expect(written == ["hi []"])
    #expect(store.stored.isEmpty)
  }

  @Test func clientThatLeavesBeforeTheAnswerTakesItBack() {
    connect()
    send("a")
    client.disconnect()
    store.settle()
    #expect(written == ["hi []"])
    #expect(store.stored.isEmpty)
  }

  /// Sends that are on the disk and written, and of which the kernel has not taken everything.
  private func sendIntoAFullSocket(_ events: String...) {
    connect()
    harness.upstream.channel.unsentBytes = 10
    for (index, event) in events.enumerated() { send(event, id: index + 1) }
    store.settle()
  }

  @Test func sentWhenTheKernelHasIt() {
    sendIntoAFullSocket("a")
    harness.pass(.seconds(1))
    #expect(states() == ["a queued"])
    harness.upstream.channel.unsentBytes = 0
    harness.pass(.seconds(1))
    #expect(states() == ["a sent"])
    #expect(store.stored.first?.message.body == [])
  }

  @Test func whatWasConfirmedRightBeforeTheLinkEndedIsNotWrittenAgain() {
    connect()
    harness.upstream.channel.confirmed = 1
    send("a", id: 1)
    send("b", id: 2)
    store.settle()
    harness.upstream.channel.confirmed = 2
    harness.upstream.channel.fail(.fleet)
    #expect(states() == ["a sent", "b queued"])
    harness.client(uid: 0).call("reconnect", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    #expect(written == ["b []"])
  }

  @Test func whatTheOtherEndOfTheLinkRefusesIsNotSent() {
    connect()
    harness.upstream.channel.confirmed = 1
    send("a", id: 1)
    send("b", #","retries":3"#, id: 2)
    send("c", id: 3)
    store.settle()
    harness.upstream.channel.refuse(.handedOver(number: 2))
    harness.upstream.channel.refuse(.awaiting(ack: 0))
    harness.upstream.channel.confirmed = 4
    harness.pass(.milliseconds(100))
    #expect(states() == ["a refused", "b refused", "c sent"])
  }

  @Test func theKernelIsAskedSoonAndThenLessAndLessOften() {
    sendIntoAFullSocket("a")
    harness.pass(.microseconds(500))
    harness.upstream.channel.looks = 0
    // 1, 2, 4 and 8 ms after each other, and then always 10.
    for looks in [1, 1, 2, 2, 2, 2, 3, 3] {
      harness.pass(.milliseconds(1))
      #expect(harness.upstream.channel.looks == looks)
    }
    harness.pass(.milliseconds(207))
    #expect(harness.upstream.channel.looks == 24)
    harness.upstream.channel.unsentBytes = 0
    harness.pass(.milliseconds(10))
    #expect(states() == ["a sent"])
  }

  @Test func aNewLinkIsNotAskedByTheTimersOfTheOldOneToo() {
    sendIntoAFullSocket("a")
    harness.pass(.milliseconds(100))
    harness.upstream.channel.fail(.closed)
    harness.client(uid: 0).call("reconnect", #"{"upstream":"chat"}"#)
    harness.upstream.channel.unsentBytes = 10
    harness.upstream.channel.accept()
    #expect(written == ["a []"])
    harness.pass(.milliseconds(100))
    harness.upstream.channel.looks = 0
    harness.pass(.milliseconds(100))
    #expect(harness.upstream.channel.looks == 10)
  }

  @Test func brokenLinkBeforeThatSendsItAgainInItsPlace() {
    sendIntoAFullSocket("a", "b")
    harness.upstream.channel.fail(.closed)
    harness.pass(.seconds(5))
    harness.upstream.channel.accept()
    #expect(written == ["a []", "b []"])
    harness.pass(.seconds(1))
    #expect(states() == ["a sent", "b sent"])
  }

  /// Sends that are on the disk and written to a link whose kernel has not taken them.
  private func sendIntoAStalledLink(_ events: String...) -> FakeProgress {
    client.call("send", #"{"upstream":"chat","event":"hi"}"#)
    let progress = FakeProgress()
    harness.upstream.channel.messages = progress
    harness.upstream.channel.accept()
    harness.upstream.channel.unsentBytes = 10
    for (index, event) in events.enumerated() { send(event, id: index + 2) }
    store.settle()
    progress.taken = 1
    return progress
  }

  private func renewLink() {
    let root = harness.client(uid: 0)
    root.call("disconnect", #"{"upstream":"chat"}"#)
    root.call("reconnect", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
  }

  @Test func whatAClosedLinkHasWrittenIsNotWrittenAgain() {
    let progress = sendIntoAStalledLink("a", "b", "c")
    progress.taken = 2
    renewLink()
    #expect(states() == ["a sent", "b queued", "c queued"])
    progress.taken = 4
    harness.pass(.milliseconds(20))
    #expect(states() == ["a sent", "b sent", "c sent"] && written.isEmpty)
  }

  @Test func whatAReloadClosedTheLinkOfIsNotWrittenAgain() {
    let progress = sendIntoAStalledLink("a", "b")
    harness.reload { $0.upstreams["chat"]?.settings.linger = .seconds(7) }
    progress.taken = 3
    harness.pass(.seconds(1))
    harness.upstream.channel.accept()
    harness.pass(.seconds(1))
    #expect(states() == ["a sent", "b sent"] && harness.upstream.channels.flatMap(\.written).count == 3)
  }

  @Test func whatAClosedLinkDoesNotWriteIsWrittenByTheNextBeforeWhatCameLater() {
    let progress = sendIntoAStalledLink("a", "b")
    renewLink()
    send("c", id: 9, durable: false)
    harness.pass(.milliseconds(100))
    #expect(written.isEmpty)
    progress.taken = 2
    progress.isOver = true
    harness.pass(.milliseconds(20))
    #expect(written == ["b []", "c []"])
    #expect(states() == ["a sent", "b sent"])
  }

  /// Other namespaces keep it, and its server takes nothing.
  @Test func nothingWaitsLongForALinkThatOthersShareAndThatDoesNotMoveOn() {
    let progress = sendIntoAStalledLink("a", "b")
    renewLink()
    send("c", id: 9, durable: false)
    harness.pass(.milliseconds(2_900))
    #expect(written.isEmpty)
    harness.pass(.milliseconds(200))
    #expect(written == ["a []", "b []", "c []"])
    #expect(states() == ["a sent", "b sent"] && !progress.isOver)
  }

  @Test func aSecondLinkThatIsClosedMeanwhileHasWrittenNothing() {
    let progress = sendIntoAStalledLink("a")
    harness.client(uid: 0).call("disconnect", #"{"upstream":"chat"}"#)
    harness.client(uid: 0).call("reconnect", #"{"upstream":"chat"}"#)
    harness.upstream.channel.messages = FakeProgress()
    harness.upstream.channel.accept()
    renewLink()
    #expect(states() == ["a queued"])
    progress.isOver = true
    harness.pass(.milliseconds(20))
    #expect(written == ["a []"])
  }

  @Test func whatAClosedLinkDidNotWriteGoesToTheURLThatTheUpstreamHasByThen() {
    let progress = sendIntoAStalledLink("a")
    harness.reload { $0.upstreams["chat"]?.url = UpstreamURL(scheme: "http", host: "other.example") }
    harness.pass(.milliseconds(5))
    #expect(states() == ["a queued"])
    progress.isOver = true
    harness.pass(.seconds(1))
    harness.upstream.channel.accept()
    #expect(written == ["a []"])
  }

  @Test func whatAClosedLinkMayStillWriteStaysOnTheDiskAtTheStop() {
    let progress = sendIntoAStalledLink("a", "b")
    progress.taken = 2
    harness.gateway.stop(reason: "test") {}
    harness.pass(.seconds(7))
    #expect(store.isClosed && harness.facts.contains(.sendsKept(1)))
  }

  @Test func retriesGoOnOverLinksUntilTheAcknowledgement() {
    connect()
    send("a", #","retries":5"#)
    store.settle()
    #expect(written == ["hi []", "a []#0"])
    harness.upstream.channel.fail(.closed)
    #expect(store.stored.first?.attempts == 1)
    harness.pass(.seconds(5))
    harness.upstream.channel.accept()
    harness.upstream.channel.acknowledge(1, "7")
    #expect(states() == ["a acked"])
    #expect(store.stored.first?.result == Array("7".utf8))
  }

  @Test func exhaustedRetriesAreLost() {
    connect()
    send("a", #","retries":0"#)
    store.settle()
    harness.upstream.channel.fail(.closed)
    #expect(states() == ["a lost"])
  }

  @Test func timeToLiveIsCutToTheAge() {
    send("a", #","ttl":315360000000"#)
    store.settle()
    #expect(store.stored.first?.expires == harness.time.wallMilliseconds + 168 * 3_600_000)
    harness.pass(.seconds(169 * 3_600))
    #expect(states() == [])
    #expect(store.stored.isEmpty)
  }

  @Test func newerOneReplacesOnlyWhenItIsSafe() {
    send("a", #","coalesce":"k""#, id: 1)
    store.settle()
    client.read()
    send("b", #","coalesce":"k""#, id: 2)
    store.problem = StorageProblem(.full, "full")
    store.settle()
    client.read()
    #expect(states() == ["a queued"])
    store.problem = nil
    send("c", #","coalesce":"k""#, id: 3)
    store.settle()
    client.read()
    #expect(states() == ["a dropped", "c queued"])
  }

  @Test func acceptedSendsMoveToTheDiskAtTheStop() {
    send("a", durable: false)
    send("b")
    store.settle()
    harness.gateway.stop(reason: "test") {}
    harness.pass(.seconds(6))
    #expect(store.isClosed)
    #expect(store.stored.map(\.message.event) == ["a", "b"])
    #expect(harness.facts.last == .sendsKept(2))
  }

  @Test func anAcceptedSendWithRetriesThatWasWrittenOnceMovesToTheDiskAtTheStop() {
    connect()
    send("a", #","retries":5"#, durable: false)
    send("b", #","retries":0,"delivery":"accepted""#, durable: false)
    #expect(written == ["hi []", "a []#0"])
    harness.gateway.stop(reason: "test") {}
    harness.pass(.seconds(6))
    #expect(store.stored.map(\.message) == ["a", "b"].map { PreparedMessage(event: $0, body: Array("[]".utf8)) })
    #expect(store.stored.map(\.attempts) == [2, 0])
    #expect(!harness.facts.contains { if case .sendFailed = $0 { true } else { false } })
  }

  @Test func anAcceptedSendThatHadItsLastTryIsReportedAtTheStop() {
    connect()
    send("a", #","retries":0"#, durable: false)
    harness.gateway.stop(reason: "test") {}
    harness.pass(.seconds(6))
    #expect(store.stored.isEmpty)
    #expect(harness.facts.contains { if case .sendFailed = $0 { true } else { false } })
  }

  @Test func aStopThatLeavesNothingSaysNothingOfTheOutbox() {
    harness.gateway.stop(reason: "test") {}
    harness.pass(.seconds(6))
    #expect(store.isClosed)
    #expect(!harness.facts.contains { if case .sendsKept = $0 { true } else { false } })
  }

  @Test func anAcceptedSendThatTheOutboxCannotKeepAtTheStopIsReported() {
    send("a", durable: false)
    store.problem = StorageProblem(.full, "no room")
    harness.gateway.stop(reason: "test") {}
    harness.pass(.seconds(6))
    let outcomes = harness.facts.compactMap { if case .sendFailed(_, _, let outcome) = $0 { outcome } else { nil } }
    #expect(outcomes == ["not stored: no room"])
    #expect(!harness.facts.contains { if case .sendsKept = $0 { true } else { false } })
  }

  @Test func rowsThatAreNotShownAnyMoreLeaveTheDiskTogether() {
    let tests = DurableSendTests { $0.outbox.keepEntries = 2 }
    tests.connect()
    func sendMany(_ count: Int) {
      for number in 1...count {
        tests.send("e\(number)", id: number)
        tests.store.settle()
        tests.harness.pass(.milliseconds(20))
        tests.store.settle()
        tests.client.read()
      }
    }
    sendMany(5)
    #expect(tests.states() == ["e4 sent", "e5 sent"])
    #expect(tests.store.stored.count == 5)
    sendMany(61)
    #expect(tests.store.stored.count == 2)
    tests.send("last", id: 1)
    tests.store.settle()
    tests.harness.pass(.milliseconds(20))
    tests.harness.gateway.stop(reason: "test") {}
    tests.harness.pass(.seconds(1))
    #expect(tests.store.stored.map(\.message.event) == ["e61", "last"])
  }

  @Test func whatTheKernelHasIsSentInTheSameTurn() {
    connect()
    send("a")
    store.settle()
    harness.pass(.zero)
    store.settle()
    #expect(states() == ["a sent"])
  }

  @Test func withoutARoomTheCallFailsAndWithDropOldestAnOlderOneGivesWay() {
    let rejecting = DurableSendTests { $0.outbox.entries = 1 }
    rejecting.send("a", id: 1)
    rejecting.store.settle()
    rejecting.client.read()
    #expect(Self.error(rejecting.send("b", id: 2)) == "QueueFull")
    let dropping = DurableSendTests {
      $0.outbox.entries = 1
      $0.outbox.whenFull = .dropOldest
    }
    dropping.send("a", id: 1)
    dropping.send("b", id: 2)
    dropping.store.settle()
    dropping.client.read()
    #expect(dropping.states() == ["a dropped", "b queued"])
  }
}
