import Testing

@testable import GatewayCore

private typealias Session = SocketIOSession

private func session(_ events: Session.Event...) -> Session {
  var session = Session()
  for event in events { _ = session.handle(event) }
  return session
}

private let gone = UpstreamFailure(.closed, "gone")
private let goneEarly = UpstreamFailure(.closed, "gone, before it accepted the namespace")
private let timeout = UpstreamFailure(
  .timeout, "the server did not answer the request for the namespace in time")

private let waiting = session()
private let behindMain = session(.linkReady(.behindMain))
private let asked = session(.linkReady(.ask))
private let unasked = session(.linkReady(.unasked))
private let joined = session(.linkReady(.ask), .accepted)
private let left = session(.leave)

private func leave(_ replyDue: Bool, _ failure: UpstreamFailure? = nil) -> [Session.Action] {
  [.disarm, .detach(replyDue: replyDue)] + (failure.map { [.end($0)] } ?? [])
}

/// What each event causes in each state, and the state afterwards; events that are not named cause nothing.
private let table: [(start: Session, causes: [(Session.Event, [Session.Action], Session.State)])] = [
  (
    waiting,
    [
      (.linkReady(.ask), [.arm, .sendConnect], .joining(asked: true)),
      (.linkReady(.unasked), [.arm], .joining(asked: false)),
      (.linkReady(.behindMain), [.arm], .behindMain),
      (.failed(gone), leave(false, gone), .left),
      (.leave, leave(false), .left),
    ]
  ),
  (
    behindMain,
    [
      (.mainAccepted, [.arm, .sendConnect], .joining(asked: true)),
      (.linkReset, [.disarm], .waiting),
      (.failed(gone), leave(false, goneEarly), .left),
      (.abandoned(SocketIOSession.timeout), leave(false, timeout), .left),
      (.leave, leave(false), .left),
    ]
  ),
  (
    asked,
    [
      (.accepted, [.disarm, .announce], .joined),
      (.linkReset, [.disarm], .waiting),
      (.failed(gone), leave(false, goneEarly), .left),
      (.abandoned(SocketIOSession.timeout), leave(true, timeout), .left),
      (.leave, leave(true), .left),
    ]
  ),
  (
    unasked,
    [
      (.accepted, [.disarm, .announce], .joined),
      (.linkReset, [.disarm], .waiting),
      (.failed(gone), leave(false, goneEarly), .left),
      (.abandoned(SocketIOSession.timeout), leave(false, timeout), .left),
      (.leave, leave(false), .left),
    ]
  ),
  (
    joined,
    [
      (.failed(gone), leave(false, gone), .left),
      (.leave, [.sendDisconnect, .detach(replyDue: false)], .left),
    ]
  ),
  (left, []),
]

private let allEvents: [Session.Event] = [
  .linkReady(.ask), .linkReady(.unasked), .linkReady(.behindMain), .linkReset, .mainAccepted, .accepted,
  .failed(gone), .abandoned(SocketIOSession.timeout), .leave,
]

@Test func namespaceSessionAnswersEveryEventInEveryState() {
  for (start, causes) in table {
    for event in allEvents {
      var session = start
      let actions = session.handle(event)
      let expected = causes.first { $0.0 == event }
      #expect(actions == expected?.1 ?? [], "\(event) in \(start.state)")
      #expect(session.state == expected?.2 ?? start.state, "\(event) in \(start.state)")
    }
  }
}
