/// The life of one session on an open transport, as a machine (WAMP section "Sessions"). What a session carries, its
/// subscriptions and calls, is not known here; neither are time and the transport's own end.
struct WAMPSession: Equatable, Sendable {
  enum State: Equatable, Sendable {
    /// Nothing was said. May become `joining` or `ended`.
    case waiting
    /// HELLO or AUTHENTICATE was sent and the router's word is awaited, after so many challenges. May become
    /// `answering`, `joined` or `ended`.
    case joining(challenges: Int)
    /// The answer to a challenge is being worked out. May become `joining` or `ended`.
    case answering(challenges: Int)
    /// Messages flow. May become `leaving` or `ended`.
    case joined
    /// Our GOODBYE was sent and its answer is awaited; everything else is ignored. May become `ended`.
    case leaving
    /// Terminal.
    case ended
  }

  enum Event: Equatable, Sendable {
    case opened
    case challenged
    /// The answer to the challenge is there.
    case answered
    /// The challenge cannot or must not be answered.
    case declined(UpstreamFailure)
    /// WELCOME, from a router that proved itself where the method asks for that.
    case welcomed
    /// ABORT.
    case aborted(UpstreamFailure)
    /// GOODBYE, as a failure for the case that it is not the answer to ours.
    case goodbye(UpstreamFailure)
    /// A message of a session: everything between WELCOME and GOODBYE.
    case traffic(WAMPCode)
    /// The router broke the protocol.
    case violated(WAMPProblem)
    case leave
  }

  enum Action: Equatable, Sendable {
    case sendHello
    case answerChallenge
    case sendAuthenticate
    case sendAbort(WAMPURI, String)
    case sendGoodbye(WAMPURI)
    case announce
    /// The message that caused this is to be handed on.
    case deliver
    /// The router has answered our GOODBYE.
    case pendingClose
    /// Hang up, and tell why. Nothing follows.
    case end(UpstreamFailure)
  }

  /// Most rounds of authentication.
  static let challengeLimit = 4

  private(set) var state = State.waiting

  mutating func handle(_ event: Event) -> [Action] {
    switch (state, event) {
    case (.waiting, .opened):
      state = .joining(challenges: 0)
      return [.sendHello]
    case (.joining(let challenges), .challenged):
      guard challenges < Self.challengeLimit else { return violation(.tooManyChallenges(limit: Self.challengeLimit)) }
      state = .answering(challenges: challenges + 1)
      return [.answerChallenge]
    case (.answering(let challenges), .answered):
      state = .joining(challenges: challenges)
      return [.sendAuthenticate]
    case (.answering, .declined(let failure)), (.joining, .declined(let failure)):
      state = .ended
      return [.sendAbort(.authenticationFailed, "the client gave up the authentication"), .end(failure)]
    case (.joining, .welcomed):
      state = .joined
      return [.announce]
    case (.joined, .traffic):
      return [.deliver]

    case (.joining, .aborted(let failure)), (.answering, .aborted(let failure)), (.joined, .aborted(let failure)):
      state = .ended
      return [.end(failure)]
    case (.joined, .goodbye(let failure)):
      state = .ended
      return [.sendGoodbye(.goodbyeAndOut), .end(failure)]
    case (.leaving, .goodbye), (.leaving, .aborted):
      state = .ended
      return [.pendingClose]

    case (.joining, .goodbye), (.answering, .goodbye): return violation(.misplaced(.goodbye))
    case (.joining, .traffic(let code)), (.answering, .traffic(let code)): return violation(.misplaced(code))
    case (.answering, .challenged), (.joined, .challenged): return violation(.misplaced(.challenge))
    case (.answering, .welcomed), (.joined, .welcomed): return violation(.misplaced(.welcome))
    case (.joining, .violated(let problem)), (.answering, .violated(let problem)), (.joined, .violated(let problem)):
      return violation(problem)

    case (.joined, .leave):
      state = .leaving
      return [.sendGoodbye(.closeRealm)]
    case (.waiting, .leave), (.joining, .leave), (.answering, .leave):
      state = .ended
      return []

    case (.waiting, .challenged), (.waiting, .answered), (.waiting, .declined), (.waiting, .welcomed),
      (.waiting, .aborted), (.waiting, .goodbye), (.waiting, .traffic), (.waiting, .violated),
      (.joining, .opened), (.joining, .answered),
      (.answering, .opened),
      (.joined, .opened), (.joined, .answered), (.joined, .declined),
      (.leaving, .opened), (.leaving, .challenged), (.leaving, .answered), (.leaving, .declined),
      (.leaving, .welcomed), (.leaving, .traffic), (.leaving, .violated), (.leaving, .leave),
      (.ended, .opened), (.ended, .challenged), (.ended, .answered), (.ended, .declined), (.ended, .welcomed),
      (.ended, .aborted), (.ended, .goodbye), (.ended, .traffic), (.ended, .violated), (.ended, .leave):
      return []
    }
  }

  private mutating func violation(_ problem: WAMPProblem) -> [Action] {
    state = .ended
    return [.sendAbort(.protocolViolation, problem.sentence), .end(problem.failure)]
  }
}
