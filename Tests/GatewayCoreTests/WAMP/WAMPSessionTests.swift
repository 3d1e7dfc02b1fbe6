import Testing

@testable import GatewayCore

private typealias Session = WAMPSession

private func session(_ events: Session.Event...) -> Session {
  var session = Session()
  for event in events { _ = session.handle(event) }
  return session
}

private let gone = UpstreamFailure(.closed, "gone")
private let goneEarly = UpstreamFailure(.closed, "gone, before it accepted the session")
private let refusal = UpstreamFailure(.refused, "no")
private let goodbye = UpstreamFailure(.closed, "bye")

private let waiting = session()
private let joining = session(.opened)
private let answering = session(.opened, .challenged)
private let joined = session(.opened, .welcomed)
private let leaving = session(.opened, .welcomed, .leave)
private let ended = session(.leave)

private func violation(_ problem: WAMPProblem) -> [Session.Action] {
  [.disarm, .sendAbort(.protocolViolation, problem.sentence), .closeTransport, .end(problem.failure)]
}
private func end(_ failure: UpstreamFailure) -> [Session.Action] { [.disarm, .closeTransport, .end(failure)] }
private let decline: [Session.Action] = [
  .disarm, .sendAbort(.authenticationFailed, "the client gave up the authentication"), .closeTransport, .end(refusal),
]

/// What each event causes in each state, and the state afterwards; events that are not named cause nothing.
private let table: [(start: Session, causes: [(Session.Event, [Session.Action], Session.State)])] = [
  (
    waiting,
    [
      (.opened, [.arm, .sendHello], .joining(challenges: 0)),
      (.lost(gone), end(gone), .ended),
      (.leave, [.disarm, .closeTransport], .ended),
    ]
  ),
  (
    joining,
    [
      (.challenged, [.answerChallenge], .answering(challenges: 1)),
      (.welcomed, [.disarm, .announce], .joined),
      (.aborted(refusal), end(refusal), .ended),
      (.declined(refusal), decline, .ended),
      (.goodbye(goodbye), violation(.misplaced(.goodbye)), .ended),
      (.traffic(.event), violation(.misplaced(.event)), .ended),
      (.violated(.noMessage), violation(.noMessage), .ended),
      (.deadlinePassed, end(Session.timeout), .ended),
      (.lost(gone), end(goneEarly), .ended),
      (.leave, [.disarm, .closeTransport], .ended),
    ]
  ),
  (
    answering,
    [
      (.answered, [.arm, .sendAuthenticate], .joining(challenges: 1)),
      (.declined(refusal), decline, .ended),
      (.challenged, violation(.misplaced(.challenge)), .ended),
      (.welcomed, violation(.misplaced(.welcome)), .ended),
      (.aborted(refusal), end(refusal), .ended),
      (.goodbye(goodbye), violation(.misplaced(.goodbye)), .ended),
      (.traffic(.event), violation(.misplaced(.event)), .ended),
      (.violated(.noMessage), violation(.noMessage), .ended),
      (.deadlinePassed, end(Session.timeout), .ended),
      (.lost(gone), end(goneEarly), .ended),
      (.leave, [.disarm, .closeTransport], .ended),
    ]
  ),
  (
    joined,
    [
      (.traffic(.event), [.deliver], .joined),
      (.challenged, violation(.misplaced(.challenge)), .ended),
      (.welcomed, violation(.misplaced(.welcome)), .ended),
      (.aborted(refusal), end(refusal), .ended),
      (
        .goodbye(goodbye), [.disarm, .sendGoodbye(.goodbyeAndOut), .closeTransport, .end(goodbye)], .ended
      ),
      (.violated(.noMessage), violation(.noMessage), .ended),
      (.lost(gone), end(gone), .ended),
      (.leave, [.arm, .sendGoodbye(.closeRealm)], .leaving),
    ]
  ),
  (
    leaving,
    [
      (.goodbye(goodbye), [.disarm, .closeTransport], .ended),
      (.aborted(refusal), [.disarm, .closeTransport], .ended),
      (.deadlinePassed, [.disarm, .closeTransport], .ended),
      (.lost(gone), [.disarm], .ended),
    ]
  ),
  (ended, []),
]

private let everyEvent: [Session.Event] = [
  .opened, .challenged, .answered, .declined(refusal), .welcomed, .aborted(refusal), .goodbye(goodbye),
  .traffic(.event), .violated(.noMessage), .deadlinePassed, .lost(gone), .leave,
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
