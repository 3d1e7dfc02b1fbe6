import Testing

@testable import GatewayCore

/// How a channel of Socket.IO looks at its server's clock.
@Suite struct SocketIOClockTests {
  private let rig = SocketIORig()

  private func asking(_ change: (inout ServerTimeSettings) -> Void = { _ in }) -> SocketIORig.Connection {
    rig.connection {
      $0.serverTime.request = "time"
      change(&$0.serverTime)
    }
  }

  /// Takes the namespace through its joining and returns what was sent since.
  private func join() -> [String] {
    rig.transport.open()
    rig.transport.receive(SocketIORig.handshake, #"40{"sid":"socket"}"#)
    return Array(rig.transport.takeSent().dropFirst())
  }

  private func milliseconds(_ sample: ClockSample?) -> [Int64]? {
    sample.map {
      [
        $0.looked.lowerBound.nanoseconds / 1_000_000, $0.looked.upperBound.nanoseconds / 1_000_000,
        $0.shown.lowerBound / 1_000_000, $0.shown.upperBound / 1_000_000,
      ]
    }
  }

  private var now: Int64 { rig.time.now.nanoseconds / 1_000_000 }

  @Test func nothingConfiguredAsksNothing() {
    let connection = rig.connection()
    #expect(join() == [])
    rig.transport.receive(#"42["time",1795276800250]"#)
    rig.advance(.seconds(600))
    #expect(connection.log.samples == [])
  }

  @Test func theAnswerToAQuestionIsASampleWithItsRoundTrip() {
    let connection = asking()
    #expect(join() == [#"420["time"]"#])
    rig.advance(.milliseconds(40))
    rig.transport.receive("430[1795276800250]")
    #expect(milliseconds(connection.log.samples.last) == [now - 40, now, 1_795_276_800_249, 1_795_276_800_251])
    #expect(connection.log.samples.map(\.source) == [.request])
    // No client is told of the acknowledgement.
    #expect(connection.log.take() == [.opened])
  }

  @Test func fourQuestionsAtTheBeginningAndThenEverySoOften() {
    let connection = asking { $0.every = .seconds(90) }
    var sent = join()
    for id in 0..<4 {
      #expect(sent == ["42\(id)[\"time\"]"])
      rig.transport.receive("43\(id)[1795276800250]")
      rig.advance(.seconds(1))
      sent = rig.transport.takeSent()
    }
    #expect(sent == [])
    rig.advance(.seconds(88))
    rig.transport.receive("2")
    _ = rig.transport.takeSent()
    rig.advance(.seconds(1))
    #expect(rig.transport.takeSent() == [#"424["time"]"#])
    #expect(connection.log.samples.count == 4)
  }

  @Test func aQuestionWithoutAnAnswerIsRepeatedAfterTheUsualTimeAndItsLateAnswerIgnored() {
    let connection = asking { $0.every = .seconds(15) }
    #expect(join() == [#"420["time"]"#])
    rig.advance(.seconds(10))
    rig.transport.receive("430[1795276800250]")
    rig.advance(.seconds(15))
    #expect(rig.transport.takeSent() == [#"421["time"]"#])
    #expect(connection.log.samples == [])
  }

  @Test(arguments: ["", "null", #""no such event""#, #"{"error":1}"#])
  func anAnswerWithoutATimeIsNoSample(_ answer: String) {
    let connection = asking { $0.every = .seconds(15) }
    _ = join()
    rig.transport.receive("430[\(answer)]")
    rig.advance(.seconds(14))
    #expect(rig.transport.takeSent() == [] && connection.log.samples == [])
    rig.advance(.seconds(1))
    #expect(rig.transport.takeSent() == [#"421["time"]"#])
  }

  @Test func questionsAndRequestsOfProgramsDoNotTakeEachOthersAnswers() throws {
    let connection = asking()
    _ = join()
    try connection.send("ask", ack: 77)
    #expect(rig.transport.takeSent() == [#"421["ask"]"#])
    rig.transport.receive(#"431["yes"]"#, "430[1795276800250]", "430[1795276900250]")
    #expect(connection.log.take() == [.opened, .acknowledged(#"77("yes")"#)])
    #expect(connection.log.samples.count == 1)
  }

  @Test func nothingIsAskedWhileTheServerTakesNothing() {
    let connection = asking()
    rig.transport.open()
    rig.transport.isCongested = true
    rig.transport.receive(SocketIORig.handshake, #"40{"sid":"socket"}"#)
    #expect(rig.transport.takeSent() == ["40"])
    rig.transport.isCongested = false
    rig.advance(.seconds(1))
    #expect(rig.transport.takeSent() == [#"420["time"]"#])
    #expect(connection.log.take() == [.opened])
  }

  @Test func aChannelThatLeavesAsksNoMore() {
    let connection = asking { $0.every = .seconds(1) }
    _ = join()
    let transport = rig.transport
    rig.transport.receive("430[1795276800250]")
    connection.close()
    _ = transport.takeSent()
    rig.advance(.seconds(30))
    #expect(transport.takeSent() == [])
  }

  @Test func anEventTellsTheTimeAndIsDeliveredLikeAnyOther() {
    let connection = rig.connection {
      $0.serverTime.event = "time"
      $0.serverTime.member = "now"
    }
    _ = join()
    rig.advance(.milliseconds(30))
    rig.transport.receive(
      #"42["time",{"now":1795276800250}]"#, #"42["times",{"now":1}]"#, #"42["\u0074ime",{"now":2}]"#)
    // Without a round trip it can be as old as the namespace.
    #expect(
      connection.log.samples.map { milliseconds($0) } == [
        [now - 30, now, 1_795_276_800_249, 1_795_276_800_251], [now - 30, now, 1, 3],
      ])
    #expect(connection.log.samples.map(\.source) == [.event, .event])
    #expect(
      connection.log.take() == [
        .opened, .event(#""time"({"now":1795276800250})"#), .event(#""times"({"now":1})"#),
        .event(#""\u0074ime"({"now":2})"#),
      ])
  }

  @Test func theRoundTripOfTheLinkBoundsHowOldAnEventCanBe() {
    let connection = rig.connection { $0.serverTime.event = "time" }
    _ = join()
    rig.advance(.seconds(1))
    rig.time.advance(by: .milliseconds(12))
    rig.transport.answerProbe()
    rig.advance(.seconds(5))
    rig.transport.receive(#"42["time",1795276800250]"#)
    #expect(milliseconds(connection.log.samples.last)?.prefix(2) == [now - 12, now])
  }

  @Test func theDateOfTheHandshakeIsASampleOfEachChannelOfTheLink() {
    let first = rig.connection()
    rig.time.advance(by: .milliseconds(70))
    rig.transport.open(headers: [HTTPHeader(name: "date", value: "Sat, 21 Nov 2026 16:00:00 GMT")])
    rig.transport.receive(SocketIORig.handshake, #"40{"sid":"socket"}"#)
    let heard = now
    rig.advance(.seconds(5))
    let second = rig.connection("/other")
    rig.transport.receive(#"40/other,{"sid":"other"}"#)
    for connection in [first, second] {
      #expect(
        connection.log.samples.map { milliseconds($0) } == [[heard - 70, heard, 1_795_276_800_000, 1_795_276_802_000]])
      #expect(connection.log.samples.map(\.source) == [.date])
    }
  }

  @Test func aReservedNameIsRefused() {
    for change in [{ $0.event = "connect" }, { $0.request = "disconnect" }] as [(inout ServerTimeSettings) -> Void] {
      let specification = rig.specification { change(&$0.serverTime) }
      guard case .invalid(let sentence) = rig.kind.traits.problem(specification) else {
        Issue.record("taken")
        continue
      }
      #expect(sentence.contains("keeps for itself"))
    }
  }
}
