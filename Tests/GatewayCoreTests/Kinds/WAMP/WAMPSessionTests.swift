import Testing

@testable import GatewayCore

private typealias Session = WAMPSession

private func session(_ events: Session.Event...) -> Session {
  var session = Session()
  for event in events { _ = session.handle(event) }
  return session
}

private let refusal = UpstreamFailure(.refused, "no")
private let goodbye = UpstreamFailure(.closed, "bye")

private let waiting = session()
private let joining = session(.opened)
private let answering = session(.opened, .challenged)
private let joined = session(.opened, .welcomed)
private let leaving = session(.opened, .welcomed, .leave)
private let ended = session(.leave)

private func violation(_ problem: WAMPProblem) -> [Session.Action] {
  [.sendAbort(.protocolViolation, problem.sentence), .end(problem.failure)]
}
private let decline: [Session.Action] = [
  .sendAbort(.authenticationFailed, "the client gave up the authentication"), .end(refusal),
]

/// What each event causes in each state, and the state afterwards; events that are not named cause nothing.
private let table: [(start: Session, causes: [(Session.Event, [Session.Action], Session.State)])] = [
  (
    waiting,
    [
      (.opened, [.sendHello], .joining(challenges: 0)),
      (.leave, [], .ended),
    ]
  ),
  (
    joining,
    [
      (.challenged, [.answerChallenge], .answering(challenges: 1)),
      (.welcomed, [.announce], .joined),
      (.aborted(refusal), [.end(refusal)], .ended),
      (.declined(refusal), decline, .ended),
      (.goodbye(goodbye), violation(.misplaced(.goodbye)), .ended),
      (.traffic(.event), violation(.misplaced(.event)), .ended),
      (.violated(.noMessage), violation(.noMessage), .ended),
      (.leave, [], .ended),
    ]
  ),
  (
    answering,
    [
      (.answered, [.sendAuthenticate], .joining(challenges: 1)),
      (.declined(refusal), decline, .ended),
      (.challenged, violation(.misplaced(.challenge)), .ended),
      (.welcomed, violation(.misplaced(.welcome)), .ended),
      (.aborted(refusal), [.end(refusal)], .ended),
      (.goodbye(goodbye), violation(.misplaced(.goodbye)), .ended),
      (.traffic(.event), violation(.misplaced(.event)), .ended),
      (.violated(.noMessage), violation(.noMessage), .ended),
      (.leave, [], .ended),
    ]
  ),
  (
    joined,
    [
      (.traffic(.event), [.deliver], .joined),
      (.challenged, violation(.misplaced(.challenge)), .ended),
      (.welcomed, violation(.misplaced(.welcome)), .ended),
      (.aborted(refusal), [.end(refusal)], .ended),
      (.goodbye(goodbye), [.sendGoodbye(.goodbyeAndOut), .end(goodbye)], .ended),
      (.violated(.noMessage), violation(.noMessage), .ended),
      (.leave, [.sendGoodbye(.closeRealm)], .leaving),
    ]
  ),
  (
    leaving,
    [
      (.goodbye(goodbye), [.pendingClose], .ended),
      (.aborted(refusal), [.pendingClose], .ended),
    ]
  ),
  (ended, []),
]

private let everyEvent: [Session.Event] = [
  .opened, .challenged, .answered, .declined(refusal), .welcomed, .aborted(refusal), .goodbye(goodbye),
  .traffic(.event), .violated(.noMessage), .leave,
]

@Suite struct WAMPSessionTests {
  @Test func everyEventInEveryStateDoesWhatTheTableSays() {
    for (start, causes) in table {
      for event in everyEvent {
        var session = start
        let actions = session.handle(event)
        let cause = causes.first { $0.0 == event }
        #expect(actions == cause?.1 ?? [], "\(start.state) \(event)")
        #expect(session.state == cause?.2 ?? start.state, "\(start.state) \(event)")
      }
    }
  }

  @Test func twoChallengesMayFollowOneAnother() {
    let session = session(.opened, .challenged, .answered, .challenged, .answered, .welcomed)
    #expect(session.state == .joined)
  }

  @Test func endlessChallengesAreAViolation() {
    var session = joining
    for _ in 0..<Session.challengeLimit {
      _ = session.handle(.challenged)
      _ = session.handle(.answered)
    }
    #expect(session.handle(.challenged) == violation(.tooManyChallenges(limit: Session.challengeLimit)))
  }
}
