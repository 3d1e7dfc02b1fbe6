import Testing

@testable import GatewayCore

@Suite struct WAMPCallsTests {
  private func calls() -> WAMPCalls {
    var calls = WAMPCalls()
    calls.add(1, .call, ack: 11)
    calls.add(2, .publish, ack: 12)
    return calls
  }

  @Test func anAnswerFindsItsWayBack() throws {
    var calls = calls()
    #expect(try calls.progressed(1) == 11)
    #expect(try calls.progressed(1) == 11)
    #expect(try calls.answered(1, .call) == 11)
    #expect(try calls.answered(2, .publish) == 12)
    #expect(calls == WAMPCalls())
  }

  @Test func anErrorFindsItsWayBack() throws {
    var calls = calls()
    #expect(try calls.failed(1, type: .call) == 11)
    #expect(try calls.failed(2, type: .publish) == 12)
    #expect(calls == WAMPCalls())
  }

  @Test func anErrorForAnotherTypeIsAViolation() {
    var calls = calls()
    #expect(throws: WAMPProblem.wrongRequestType(.publish, 1)) { try calls.failed(1, type: .publish) }
    #expect(throws: WAMPProblem.wrongRequestType(.subscribe, 2)) { try calls.failed(2, type: .subscribe) }
  }

  @Test func anAnswerOfTheWrongKindIsAViolation() {
    var calls = calls()
    #expect(throws: WAMPProblem.unasked(.published, 1)) { try calls.answered(1, .publish) }
    #expect(throws: WAMPProblem.unasked(.result, 2)) { try calls.answered(2, .call) }
    #expect(throws: WAMPProblem.unasked(.result, 2)) { try calls.progressed(2) }
  }

  @Test func anAnswerToNothingIsAViolation() throws {
    var calls = calls()
    _ = try calls.answered(1, .call)
    #expect(throws: WAMPProblem.unasked(.result, 1)) { try calls.answered(1, .call) }
    #expect(throws: WAMPProblem.unasked(.result, 3)) { try calls.progressed(3) }
    #expect(throws: WAMPProblem.unasked(.error, 3)) { try calls.failed(3, type: .call) }
  }

  @Test func theLateAnswerToWhatWasGivenUpIsIgnoredOnce() throws {
    var calls = calls()
    #expect(calls.forget(ack: 11) == 1)
    #expect(calls.forget(ack: 12) == nil)
    #expect(calls.forget(ack: 13) == nil)
    #expect(calls.count == 0)
    #expect(try calls.progressed(1) == nil)
    #expect(try calls.answered(1, .call) == nil)
    #expect(try calls.failed(2, type: .publish) == nil)
    #expect(calls == WAMPCalls())
  }

  @Test func whatWasGivenUpLongAgoIsNoViolationEither() throws {
    var calls = WAMPCalls()
    for request in 1...UInt64(WAMPCalls.forgottenLimit + 1) {
      calls.add(request, .call, ack: request)
      _ = calls.forget(ack: request)
    }
    #expect(try calls.answered(1, .call) == nil)
    #expect(try calls.answered(UInt64(WAMPCalls.forgottenLimit), .call) == nil)
  }
}

@Suite struct WAMPInvocationsTests {
  @Test func anInvocationIsAnsweredOnce() throws {
    var invocations = WAMPInvocations()
    #expect(try invocations.began(5))
    let first = invocations.ended(5)
    let second = invocations.ended(5)
    #expect(first)
    #expect(!second)
    #expect(try invocations.began(5))
  }

  @Test func anIDThatIsInUseIsAViolation() throws {
    var invocations = WAMPInvocations()
    _ = try invocations.began(5)
    #expect(throws: WAMPProblem.repeatedID(.invocation, 5)) { try invocations.began(5) }
  }

  @Test func thereIsALimit() throws {
    var invocations = WAMPInvocations()
    for request in 1...UInt64(WAMPInvocations.limit) { _ = try invocations.began(request) }
    #expect(try !invocations.began(UInt64(WAMPInvocations.limit) + 1))
    #expect(invocations.count == WAMPInvocations.limit)
  }
}

@Suite struct WAMPPublicationsTests {
  @Test func aCopyIsRecognised() {
    var publications = WAMPPublications()
    let seen = [7, 8, 7, 8, 9].map { publications.note($0) }
    #expect(seen == [true, true, false, false, true])
  }

  @Test func onlyTheLastOnesAreRemembered() {
    var publications = WAMPPublications()
    for publication in 0..<UInt64(WAMPPublications.limit) { _ = publications.note(publication) }
    let copy = publications.note(0)
    #expect(!copy)
    _ = publications.note(1 << 40)
    let forgotten = publications.note(0)
    #expect(forgotten)
    let kept = publications.note(2)
    #expect(!kept)
  }
}
