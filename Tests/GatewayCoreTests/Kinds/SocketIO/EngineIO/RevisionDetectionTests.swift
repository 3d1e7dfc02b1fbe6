import Testing

@testable import GatewayCore

private typealias Detection = RevisionDetection

private func detection(_ remembered: EngineIORevision? = nil, _ events: Detection.Event...) -> Detection {
  var detection = Detection(remembered: remembered)
  for event in events { _ = detection.handle(event) }
  return detection
}

private let failed: Detection = detection(nil, .revisionRefused, .revisionRefused)
private let neither = Detection.Action.fail(
  UpstreamFailure(.incompatible, "the server speaks neither revision 3 nor revision 4 of Engine.IO"))

/// Every state, reached by events, with what each further event causes; events that are not named cause nothing.
private let table: [(start: Detection, causes: [(Detection.Event, [Detection.Action], Detection.State)])] = [
  (
    detection(),
    [
      (.revisionRefused, [.forget, .redial(.three)], .dialling(.three)),
      (.handshake(namesMaxPayload: true), [.remember(.four), .join], .settled(.four, isSure: true)),
      (.handshake(namesMaxPayload: false), [.settle(.milliseconds(200))], .settling),
      (.shownHandshake(.four), [.remember(.four), .join], .settled(.four, isSure: true)),
      (.shownHandshake(.three), [.switchToThree, .remember(.three), .join], .settled(.three, isSure: true)),
    ]
  ),
  (
    detection(.four),
    [
      (.revisionRefused, [.forget, .redial(.three)], .dialling(.three)),
      (.handshake(namesMaxPayload: true), [.remember(.four), .join], .settled(.four, isSure: true)),
      (.handshake(namesMaxPayload: false), [.join], .settled(.four, isSure: false)),
      (.shownHandshake(.four), [.remember(.four), .join], .settled(.four, isSure: true)),
      (.shownHandshake(.three), [.switchToThree, .remember(.three), .join], .settled(.three, isSure: true)),
    ]
  ),
  (
    detection(.three),
    [
      (.revisionRefused, [.forget, .redial(.four)], .dialling(.four)),
      (.handshake(namesMaxPayload: true), [.remember(.three), .join], .settled(.three, isSure: true)),
      (.handshake(namesMaxPayload: false), [.remember(.three), .join], .settled(.three, isSure: true)),
      (.shownHandshake(.three), [.remember(.three), .join], .settled(.three, isSure: true)),
      (.shownHandshake(.four), [.forget, .redial(.four)], .dialling(.four)),
    ]
  ),
  (
    detection(nil, .revisionRefused),
    [
      (.revisionRefused, [.forget, neither], .failed),
      (.handshake(namesMaxPayload: true), [.remember(.three), .join], .settled(.three, isSure: true)),
      (.handshake(namesMaxPayload: false), [.remember(.three), .join], .settled(.three, isSure: true)),
      (.shownHandshake(.three), [.remember(.three), .join], .settled(.three, isSure: true)),
      (.shownHandshake(.four), [.forget, neither], .failed),
    ]
  ),
  (
    detection(nil, .handshake(namesMaxPayload: false)),
    [
      (.oldAnswer, [.switchToThree, .remember(.three), .join], .settled(.three, isSure: true)),
      (.settleTimePassed, [.join], .settled(.four, isSure: false)),
    ]
  ),
  (
    detection(nil, .handshake(namesMaxPayload: false), .settleTimePassed),
    [
      (.newAnswer, [.remember(.four)], .settled(.four, isSure: true)),
      (.oldAnswer, [.forget, .redial(.three)], .dialling(.three)),
    ]
  ),
  (detection(nil, .handshake(namesMaxPayload: true)), []),
  (detection(.three, .handshake(namesMaxPayload: true)), []),
  (failed, []),
]

private let allEvents: [Detection.Event] = [
  .revisionRefused, .handshake(namesMaxPayload: true), .handshake(namesMaxPayload: false), .oldAnswer, .newAnswer,
  .settleTimePassed, .shownHandshake(.three), .shownHandshake(.four),
]

@Test func revisionDetectionAnswersEveryEventInEveryState() {
  for (start, causes) in table {
    for event in allEvents {
      var detection = start
      let actions = detection.handle(event)
      let expected = causes.first { $0.0 == event }
      #expect(actions == expected?.1 ?? [], "\(event) in \(start.state)")
      #expect(detection.state == expected?.2 ?? start.state, "\(event) in \(start.state)")
    }
  }
}

@Test func unmaskedOldServerThatRefusesRevisionThreeTooIsIncompatible() {
  var detection = detection(.four, .handshake(namesMaxPayload: false), .oldAnswer)
  #expect(detection.handle(.revisionRefused) == [.forget, neither])
}

private func refusal(_ body: String) -> EngineIORefusal? { EngineIORefusal(body: [UInt8](body.utf8)) }

@Test func refusalsOfNodeAndPythonServersAreRecognised() {
  let table: [(String, EngineIORefusal?)] = [
    (#"{"code":5,"message":"Unsupported protocol version"}"#, .unsupportedRevision),
    ("Unsupported protocol version", .unsupportedRevision),
    (
      #""The client is using an unsupported version of the Socket.IO or Engine.IO protocols""#, .unsupportedRevision
    ),
    (#"{"code":0,"message":"Transport unknown"}"#, .unknownTransport),
    ("Transport unknown", .unknownTransport),
    (#"{"code":1,"message":"Session ID unknown"}"#, .unknownSession),
    ("Session ID unknown\n", .unknownSession),
    (#"{"code":2,"message":"Bad handshake method"}"#, .badRequest),
    (#"{"code":3,"message":"Bad request"}"#, .badRequest),
    ("Bad request", .badRequest),
    (#"{"code":4,"message":"not\nyou"}"#, .forbidden("not you")),
    ("Forbidden", .forbidden("Forbidden")),
    ("", nil), ("<html>Bad request</html>", nil), (#"{"code":9,"message":"x"}"#, nil), (#"{"code":5}"#, nil),
    ("[]", nil), ("5", nil), ("null", nil),
  ]
  for (body, expected) in table { #expect(refusal(body) == expected, "\(body)") }
}

@Test func onlyHTTPFailuresAreExplained() {
  let http = UpstreamFailure(.http, "HTTP 400", status: 400)
  let closed = UpstreamFailure(.closed, "closed")
  func explain(_ failure: UpstreamFailure, _ body: String) -> UpstreamFailure {
    EngineIORefusal.explain(TransportFailure(failure, httpBody: [UInt8](body.utf8)), .websocket)
  }
  #expect(explain(http, "<html>") == http)
  #expect(explain(closed, "Forbidden") == closed)
  #expect(
    explain(http, "Forbidden")
      == UpstreamFailure(
        .http, "the server forbade the handshake: Forbidden", status: 400, serverMessage: "Forbidden"))
  #expect(
    explain(http, "Transport unknown") == UpstreamFailure(.http, "the server does not offer WebSocket", status: 400))
  #expect(
    explain(http, "Unsupported protocol version")
      == UpstreamFailure(.incompatible, "the server does not speak this revision of Engine.IO", status: 400))
}

@Test func aRefusalOfManyMegabytesIsNoneOfEngineIO() {
  let members = String(repeating: #""a":[0,0,0,0],"#, count: 1 << 20)
  #expect(refusal(#"{\#(members)"code":5,"message":"Unsupported protocol version"}"#) == nil)
}
