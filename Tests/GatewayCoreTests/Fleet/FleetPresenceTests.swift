import Testing

@testable import GatewayCore

@Suite struct FleetPresenceTests {
  private var presence = FleetPresence(adopt: .seconds(30), last: 4)
  private let now = MonotonicInstant(nanoseconds: 0)

  private mutating func handle(_ event: FleetPresence.Event, _ seconds: Int = 0) -> [FleetPresence.Action] {
    presence.handle(event, at: now + .seconds(seconds))
  }

  private func joined(_ life: UInt64) -> FleetPresence.Event { .joined(FleetJoined(life: life, names: [])) }

  @Test mutating func aHostJoinsBehindItsLastLifeAndSaysThatItLives() {
    #expect(handle(.gained) == [.join(behind: 4)])
    #expect(handle(joined(5)) == [.begin(life: 5, names: []), .wake(now + .seconds(10))])
    #expect(handle(.rang, 10) == [.say(life: 5)])
    #expect(handle(.rang, 10) == [])
    #expect(handle(.heard, 11) == [.wake(now + .seconds(21))])
    #expect(presence.life == 5)
  }

  @Test mutating func aJoinThatIsNotConfirmedDoesNotCount() {
    _ = handle(.gained)
    #expect(handle(.joinFailed) == [.wake(now + .milliseconds(2_500))])
    #expect(presence.life == nil)
    #expect(handle(.rang, 3) == [.join(behind: 4)])
  }

  @Test mutating func whoWasTakenForDeadBeginsANewLife() {
    _ = handle(.gained)
    _ = handle(joined(5))
    #expect(handle(.fenced, 40) == [.end, .join(behind: 5)])
    #expect(presence.life == nil)
    #expect(handle(joined(7), 40) == [.begin(life: 7, names: []), .wake(now + .seconds(50))])
  }

  @Test mutating func itsFirstWordOnANewConnectionIsThatItLives() {
    _ = handle(.gained)
    _ = handle(joined(5))
    _ = handle(.lost, 20)
    #expect(presence.life == 5)
    #expect(handle(.gained, 25) == [.say(life: 5)])
  }

  @Test mutating func aJoinThatTheEngineWasLostOverIsAskedAgain() {
    _ = handle(.gained)
    _ = handle(.lost)
    #expect(handle(joined(5)) == [])
    #expect(handle(.gained) == [.join(behind: 4)])
  }

  @Test func aHostWhoseRowHasALifeThatNoHostGivesJoinsAllTheSame() throws {
    let scene = FleetScene()
    let details = FleetHostDetails()
    for life in ["18446744073709551000", "9007199254740991"] {
      let row = Array("\(life):0:".utf8) + details.fields.packed
      #expect(FleetHostRow(row) == nil)
      scene.store.set(scene.place.key(.hosts), "b", row)
      var joined: FleetJoined?
      scene.engine.run(FleetJoin(place: scene.place, host: "b", life: 6, details: details)) {
        if case .done(let value) = $0 { joined = value }
      }
      scene.settle()
      #expect(joined?.life == 7)
    }
  }
}
