import Testing

@testable import GatewayCore

@Test func answersThatAreTakenCountNoMore() {
  var backlog = ControlBacklog(limit: 100)
  var taken = 0
  for _ in 0..<1_000 {
    backlog.add(60, taken: taken, waiting: 60)
    taken += 60
  }
  #expect(!backlog.isFull)
}

@Test func answersAddUpOnALinkThatIsNeverIdle() {
  // A program's bytes always wait as well, and everything is taken in the end.
  var backlog = ControlBacklog(limit: 100)
  var taken = 0
  for _ in 0..<1_000 {
    backlog.add(10, taken: taken, waiting: 5_000)
    taken += 2_500
  }
  #expect(!backlog.isFull)
}

@Test func answersThatNobodyTakesFillTheBacklog() {
  var backlog = ControlBacklog(limit: 100)
  for count in 1...10 { backlog.add(10, taken: 0, waiting: 10 * count) }
  #expect(!backlog.isFull)
  backlog.add(1, taken: 5, waiting: 96)
  #expect(backlog.isFull)
}

@Test func aSingleAnswerMayBeLargerThanTheLimit() {
  var backlog = ControlBacklog(limit: 100)
  backlog.add(1_000, taken: 0, waiting: 1_000)
  #expect(!backlog.isFull)
  backlog.add(1, taken: 0, waiting: 1_001)
  #expect(backlog.isFull)
}
