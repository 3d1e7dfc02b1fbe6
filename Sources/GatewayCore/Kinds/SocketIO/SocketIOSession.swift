/// One namespace on one link, from the moment it is wanted until it is left, as a machine. Socket.IO protocol, sections
/// "Connection to a namespace" and "Disconnection from a namespace"; revisions are those of Engine.IO.
struct SocketIOSession: Equatable, Sendable {
  enum State: Equatable, Sendable {
    /// The link is not ready. May become `behindMain`, `joining` or `left`.
    case waiting
    /// Revision 3: the server has not accepted the main namespace yet. May become `joining`, `waiting` or `left`.
    case behindMain
    /// The server's answer is awaited; `asked` unless the server accepts by itself. May become `joined`, `waiting` or
    /// `left`.
    case joining(asked: Bool)
    /// Messages flow. May become `left`.
    case joined
    /// Terminal.
    case left
  }

  /// How a namespace is entered.
  enum Entry: Equatable, Sendable {
    /// By a CONNECT of ours.
    case ask
    /// The server accepts it by itself: the main namespace in revision 3.
    case unasked
    /// By a CONNECT of ours, once the main namespace is accepted: the others in revision 3.
    case behindMain
  }

  enum Event: Equatable, Sendable {
    case linkReady(Entry)
    /// The link dials anew: the server turned out to speak another revision.
    case linkReset
    case mainAccepted
    case accepted
    /// Refused, and asked for again from the beginning, on this link or on another one.
    case triedAgain
    /// Refused, kicked, or the link is gone.
    case failed(UpstreamFailure)
    /// The server's answer, should it ever come, is not waited for any longer.
    case abandoned(UpstreamFailure)
    case leave
    /// Leave without a word, so that the server keeps what it knows of us.
    case suspend
  }

  enum Action: Equatable, Sendable {
    case sendConnect
    case sendDisconnect
    /// Set the timer of this phase.
    case arm
    case disarm
    case announce
    /// Take the namespace off the link; `replyDue` when the server's answer to our CONNECT will still come.
    case detach(replyDue: Bool)
    /// Tell the owner. Nothing follows.
    case end(UpstreamFailure)
  }

  private(set) var state = State.waiting

  /// Whether the link is ready and the namespace is not accepted yet.
  private var isEntering: Bool {
    switch state {
    case .behindMain, .joining: true
    case .waiting, .joined, .left: false
    }
  }

  mutating func handle(_ event: Event) -> [Action] {
    switch (state, event) {
    case (.waiting, .linkReady(.ask)), (.behindMain, .mainAccepted):
      state = .joining(asked: true)
      return [.arm, .sendConnect]
    case (.waiting, .linkReady(.unasked)):
      state = .joining(asked: false)
      return [.arm]
    case (.waiting, .linkReady(.behindMain)):
      state = .behindMain
      return [.arm]
    case (.behindMain, .linkReset), (.joining, .linkReset):
      state = .waiting
      return [.disarm]
    case (.joining, .accepted):
      state = .joined
      return [.disarm, .announce]

    case (.waiting, .triedAgain), (.behindMain, .triedAgain), (.joining, .triedAgain):
      state = .waiting
      return [.disarm, .detach(replyDue: false)]
    case (.waiting, .failed(let failure)), (.behindMain, .failed(let failure)), (.joining, .failed(let failure)),
      (.joined, .failed(let failure)):
      return leave(replyDue: false, failure)
    case (.behindMain, .abandoned(let failure)), (.joining(asked: false), .abandoned(let failure)):
      return leave(replyDue: false, failure)
    case (.joining(asked: true), .abandoned(let failure)):
      return leave(replyDue: true, failure)
    case (.waiting, .leave), (.behindMain, .leave), (.joining(asked: false), .leave),
      (.waiting, .suspend), (.behindMain, .suspend), (.joining(asked: false), .suspend), (.joined, .suspend):
      return leave(replyDue: false)
    case (.joining(asked: true), .leave), (.joining(asked: true), .suspend):
      return leave(replyDue: true)
    case (.joined, .leave):
      state = .left
      return [.sendDisconnect, .detach(replyDue: false)]

    case (.waiting, .linkReset), (.waiting, .mainAccepted), (.waiting, .accepted), (.waiting, .abandoned),
      (.behindMain, .linkReady), (.behindMain, .accepted),
      (.joining, .linkReady), (.joining, .mainAccepted),
      (.joined, .linkReady), (.joined, .linkReset), (.joined, .mainAccepted), (.joined, .accepted),
      (.joined, .triedAgain), (.left, .triedAgain),
      (.joined, .abandoned),
      (.left, .linkReady), (.left, .linkReset), (.left, .mainAccepted), (.left, .accepted), (.left, .failed),
      (.left, .abandoned), (.left, .leave), (.left, .suspend):
      return []
    }
  }

  /// The server did not answer the request for the namespace.
  static let timeout = UpstreamFailure(
    .timeout, "the server did not answer the request for the namespace in time")

  private mutating func leave(replyDue: Bool, _ failure: UpstreamFailure? = nil) -> [Action] {
    let failure = isEntering ? failure?.closing(before: "it accepted the namespace") : failure
    state = .left
    return [.disarm, .detach(replyDue: replyDue)] + (failure.map { [.end($0)] } ?? [])
  }
}
