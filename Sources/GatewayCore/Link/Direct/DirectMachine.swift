/// One conversation over a transport of its own, from the reading of the credentials to the goodbye, as a machine.
struct DirectMachine: Equatable, Sendable {
  enum State: Equatable, Sendable {
    /// The credentials are read. May become `dialling` or `left`.
    case reading
    /// May become `joining`, `reading` or `left`.
    case dialling
    /// The transport is open and the kind's own handshake runs. May become `joined`, `reading` or `left`.
    case joining
    /// Messages flow. May become `leaving` or `left`.
    case joined
    /// The owner has gone, and the server's answer to our goodbye is awaited. May become `left`.
    case leaving
    /// Terminal.
    case left
  }

  enum Event: Equatable, Sendable {
    case secretsRead
    case transportOpened
    /// The kind's handshake is done.
    case ready
    /// Once more from the beginning: at another place, or with other credentials.
    case triedAgain
    /// For good.
    case failed(UpstreamFailure)
    case leave
    /// Nothing more is to be said or awaited.
    case closeEnded
  }

  enum Action: Equatable, Sendable {
    case dial
    /// Begin the kind's handshake, and set the timer of this phase.
    case beginHandshake
    case announce
    /// Say goodbye as the kind does.
    case sayGoodbye
    /// Let go of the transport and of everything that runs.
    case hangUp
    /// Tell the owner. Nothing follows.
    case end(UpstreamFailure)
  }

  private(set) var state = State.reading

  /// Whether the attempt is undecided.
  var isOpening: Bool {
    switch state {
    case .reading, .dialling, .joining: true
    case .joined, .leaving, .left: false
    }
  }

  mutating func handle(_ event: Event) -> [Action] {
    switch (state, event) {
    case (.reading, .secretsRead):
      state = .dialling
      return [.dial]
    case (.dialling, .transportOpened):
      state = .joining
      return [.beginHandshake]
    case (.joining, .ready):
      state = .joined
      return [.announce]
    case (.dialling, .triedAgain), (.joining, .triedAgain):
      state = .reading
      return [.hangUp]
    case (.reading, .failed(let failure)), (.dialling, .failed(let failure)), (.joining, .failed(let failure)),
      (.joined, .failed(let failure)):
      state = .left
      return [.hangUp, .end(failure)]
    case (.joined, .leave):
      state = .leaving
      return [.sayGoodbye]
    case (.reading, .leave), (.dialling, .leave), (.joining, .leave), (.leaving, .closeEnded),
      (.leaving, .failed):
      state = .left
      return [.hangUp]

    case (.reading, .transportOpened), (.reading, .ready), (.reading, .triedAgain), (.reading, .closeEnded),
      (.dialling, .secretsRead), (.dialling, .ready), (.dialling, .closeEnded),
      (.joining, .secretsRead), (.joining, .transportOpened), (.joining, .closeEnded),
      (.joined, .secretsRead), (.joined, .transportOpened), (.joined, .ready), (.joined, .triedAgain),
      (.joined, .closeEnded),
      (.leaving, .secretsRead), (.leaving, .transportOpened), (.leaving, .ready), (.leaving, .triedAgain),
      (.leaving, .leave),
      (.left, .secretsRead), (.left, .transportOpened), (.left, .ready), (.left, .triedAgain), (.left, .failed),
      (.left, .leave), (.left, .closeEnded):
      return []
    }
  }
}
