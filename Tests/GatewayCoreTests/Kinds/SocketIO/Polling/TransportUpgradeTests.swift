import Testing

@testable import GatewayCore

private typealias Upgrade = TransportUpgrade

private let allEvents: [Upgrade.Event] = [
  .handshake(mayUpgrade: true), .handshake(mayUpgrade: false), .probeOpened, .probeAnswered, .probeMisspoke, .probeLost,
  .deadlinePassed, .pollingRests, .ended,
]

private func upgrade(_ events: Upgrade.Event...) -> Upgrade {
  var upgrade = Upgrade()
  for event in events { _ = upgrade.handle(event) }
  return upgrade
}

private let discard: [Upgrade.Action] = [.disarm, .discardProbe]
private let resume: [Upgrade.Action] = [.disarm, .discardProbe, .resume]

/// Every state, reached by events, with what each further event causes; events that are not named cause nothing.
private let table: [(start: Upgrade, causes: [(Upgrade.Event, [Upgrade.Action], Upgrade.State)])] = [
  (
    upgrade(),
    [
      (.handshake(mayUpgrade: true), [.arm, .dial], .probing), (.handshake(mayUpgrade: false), [], .staying),
      (.ended, [], .over),
    ]
  ),
  (
    upgrade(.handshake(mayUpgrade: true)),
    [
      (.probeOpened, [.ask], .asking), (.probeAnswered, discard, .staying), (.probeMisspoke, discard, .staying),
      (.probeLost, [.disarm], .staying), (.deadlinePassed, discard, .staying), (.ended, discard, .over),
    ]
  ),
  (
    upgrade(.handshake(mayUpgrade: true), .probeOpened),
    [
      (.probeAnswered, [.pause], .pausing), (.probeOpened, discard, .staying), (.probeMisspoke, discard, .staying),
      (.probeLost, [.disarm], .staying), (.deadlinePassed, discard, .staying), (.ended, discard, .over),
    ]
  ),
  (
    upgrade(.handshake(mayUpgrade: true), .probeOpened, .probeAnswered),
    [
      (.pollingRests, [.disarm, .switchOver], .upgraded), (.probeOpened, resume, .staying),
      (.probeAnswered, resume, .staying), (.probeMisspoke, resume, .staying),
      (.probeLost, [.disarm, .resume], .staying),
      (.deadlinePassed, resume, .staying), (.ended, discard, .over),
    ]
  ),
  (upgrade(.handshake(mayUpgrade: true), .probeOpened, .probeAnswered, .pollingRests), [(.ended, [], .over)]),
  (upgrade(.handshake(mayUpgrade: false)), [(.ended, [], .over)]),
  (upgrade(.ended), []),
]

@Test func upgradeAnswersEveryEventInEveryState() {
  for (start, causes) in table {
    for event in allEvents {
      var upgrade = start
      let actions = upgrade.handle(event)
      let row = causes.first { $0.0 == event }
      #expect(actions == row?.1 ?? [] && upgrade.state == row?.2 ?? start.state, "\(start.state) \(event)")
    }
  }
}

private func failure(_ reason: DownReason, _ detail: String) -> UpstreamFailure { UpstreamFailure(reason, detail) }

@Test func transportsAreTriedInTheirOrder() {
  var choice = TransportChoice(order: [.websocket, .polling], remembered: nil, upgrades: true)
  #expect(choice.current == .websocket && !choice.mayUpgrade)
  #expect(choice.failed(failure(.http, "HTTP 400"), beforeHTTP: false) == .tryNext)
  #expect(choice.current == .polling)
  #expect(!choice.mayUpgrade, "what failed in this attempt is not probed again")
  #expect(
    choice.failed(failure(.closed, "gone"), beforeHTTP: false)
      == .giveUp(failure(.http, "websocket: HTTP 400; polling: gone")))
}

@Test func aWebSocketThatDidNotAnswerInItsShortTimeIsTriedAgainAfterPolling() {
  var choice = TransportChoice(order: [.websocket, .polling], remembered: nil, upgrades: true)
  #expect(choice.isHurried)
  #expect(choice.failed(failure(.timeout, "slow"), beforeHTTP: false) == .tryNext)
  #expect(choice.current == .polling && !choice.isHurried)
  #expect(choice.failed(failure(.timeout, "no polling"), beforeHTTP: false) == .tryNext)
  #expect(choice.current == .websocket && !choice.isHurried)
  #expect(
    choice.failed(failure(.timeout, "slow"), beforeHTTP: false)
      == .giveUp(failure(.timeout, "websocket: slow; polling: no polling; websocket: slow")))
}

@Test func onlyFailuresThatAnotherTransportMightCureLeadToIt() {
  for reason in DownReason.allCases {
    var choice = TransportChoice(order: [.websocket, .polling], remembered: nil, upgrades: true)
    let isCurable = [.http, .closed, .timeout, .protocolError, .tooLarge].contains(reason)
    let failed = failure(reason, "x")
    #expect(choice.failed(failed, beforeHTTP: false) == (isCurable ? .tryNext : .giveUp(failed)), "\(reason)")
    choice = TransportChoice(order: [.websocket, .polling], remembered: nil, upgrades: true)
    #expect(choice.failed(failed, beforeHTTP: true) == .giveUp(failed), "\(reason)")
    choice = TransportChoice(order: [.websocket], remembered: nil, upgrades: true)
    #expect(choice.failed(failed, beforeHTTP: false) == .giveUp(failed), "\(reason)")
  }
}

@Test func whatWorkedComesFirst() {
  var choice = TransportChoice(order: [.websocket, .polling], remembered: .polling, upgrades: true)
  #expect(choice.current == .polling && choice.mayUpgrade)
  #expect(choice.failed(failure(.http, "x"), beforeHTTP: false) == .tryNext)
  #expect(choice.current == .websocket)
  choice = TransportChoice(order: [.polling], remembered: .websocket, upgrades: true)
  #expect(choice.current == .polling && !choice.mayUpgrade, "what is not configured is not used")
  #expect(!TransportChoice(order: [.polling, .websocket], remembered: nil, upgrades: false).mayUpgrade)
  #expect(TransportChoice(order: [.polling, .websocket], remembered: nil, upgrades: true).mayUpgrade)
}

@Test(arguments: [401, 403]) func refusalByTheSecondTransportIsTheReason(_ status: Int) {
  var choice = TransportChoice(order: [.websocket, .polling], remembered: nil, upgrades: true)
  #expect(choice.failed(UpstreamFailure(.http, "no WebSocket", status: 404), beforeHTTP: false) == .tryNext)
  let refusal = UpstreamFailure(.http, "no", status: status, serverMessage: "go away")
  var conclusion = refusal
  conclusion.detail = "websocket: no WebSocket; polling: no"
  #expect(choice.failed(refusal, beforeHTTP: false) == .giveUp(conclusion))
}

@Test func serverThatAsksForARestIsNotAskedByTheNextTransport() {
  var choice = TransportChoice(order: [.websocket, .polling], remembered: nil, upgrades: true)
  let busy = UpstreamFailure(.http, "busy", status: 503, retryAfter: .seconds(600))
  #expect(choice.failed(busy, beforeHTTP: false) == .giveUp(busy))
}
