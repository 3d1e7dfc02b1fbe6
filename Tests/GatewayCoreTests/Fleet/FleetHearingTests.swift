import Testing

@testable import GatewayCore

@Suite struct FleetHearingTests {
  private var hearing = FleetHearing()

  private func marker(_ kind: FleetMarker.Kind, _ epoch: String, _ sequence: UInt64 = 0) -> FleetMarker {
    FleetMarker(kind, term: 1, epoch: epoch, sequence: sequence)
  }

  private func record(_ conversation: UInt64, _ number: UInt64, _ entry: FleetEntry) -> FleetRecord {
    FleetRecord(position: FleetPosition(conversation, number), fields: entry.fields)
  }

  /// All that is new in an entry.
  private mutating func hear(_ record: FleetRecord) -> [FleetHearing.Heard] {
    var all: [FleetHearing.Heard] = []
    while let next = hearing.next(in: record, isInConversation: false) { all.append(next) }
    return all
  }

  @Test mutating func anEventIsHeardOnceAndBehindItsOpening() {
    let opening = marker(.open(hosts: 2), "e1", 4)
    let event = FleetScene.event("5", epoch: "e1")
    #expect(hear(record(3, 0, .marker(opening))) == [.marker(opening)])
    #expect(hearing.nextPlace == EventPlace(epoch: "e1", sequence: 5, time: 0))
    #expect(hear(record(3, 5, event)) == [.event(event)])
    #expect(hear(record(3, 5, event)) == [])
    #expect(hearing.present == 3 && hearing.sequence == 5)
  }

  @Test mutating func anOpeningThatIsForgottenIsHeardWithTheFirstEventThatIsThere() {
    let event = FleetScene.event("7", epoch: "e1")
    let opening = FleetMarker(.open(hosts: 1), term: 0, epoch: "e1", sequence: 6)
    #expect(hearing.next(in: record(3, 7, event), isInConversation: false) == .marker(opening))
    #expect(hearing.nextPlace == EventPlace(epoch: "e1", sequence: 7, time: 0))
    #expect(hear(record(3, 7, event)) == [.event(event)])
  }

  @Test mutating func anOpeningThatEndsAConversationIsHeardAfterIt() {
    let opening = record(3, 0, .marker(marker(.open(hosts: 1), "e1")))
    #expect(hearing.next(in: opening, isInConversation: true) == .nextConversation)
    #expect(hearing.present == nil)
    #expect(hear(opening) == [.marker(marker(.open(hosts: 1), "e1"))])
  }

  @Test mutating func aServerThatLacksWhatWasReadIsReadFromTheOpeningOnWithoutWhatWasTold() {
    let opening = record(3, 0, .marker(marker(.open(hosts: 1), "e1")))
    let events = (1...3 as ClosedRange<UInt64>).map { record(3, $0, FleetScene.event("\($0)", epoch: "e1")) }
    for record in [opening] + events.dropLast() { _ = hear(record) }
    _ = hear(record(4, 0, .marker(marker(.take, "e1", 2))))
    hearing.engineLost()
    #expect(!hearing.goesOn && hearing.present == nil)
    let goesBack = hearing.goOn(to: events.last)
    #expect(goesBack && hearing.goesOn && hearing.read < opening.position)
    let heard = ([opening] + events).flatMap { hear($0) }
    #expect(heard == [.marker(marker(.open(hosts: 1), "e1")), .event(FleetScene.event("3", epoch: "e1"))])
    #expect(hearing.present == 3 && hearing.sequence == 3)
  }

  @Test mutating func aServerThatHasAnotherConversationUnderTheSameNumberIsReadFromItsOpeningOn() {
    let openings = ["e1", "e2"].map { record(3, 0, .marker(marker(.open(hosts: 1), $0))) }
    _ = hear(openings[0])
    let goesBack = openings.map { hearing.goOn(to: $0) }
    #expect(goesBack == [false, true])
    #expect(hear(openings[1]) == [.marker(marker(.open(hosts: 1), "e2"))])
  }

  @Test mutating func whatWasHeardAtAnEngineThatIsLostMayBeAnotherServersToo() {
    _ = hear(record(3, 0, .marker(marker(.open(hosts: 1), "e1"))))
    #expect(hearing.isSure(of: 3))
    hearing.engineLost()
    #expect(!hearing.isSure(of: 3) && hearing.isSure(of: 4))
    _ = hearing.take(reply: FleetPosition(5, 1))
    #expect(!hearing.isSure(of: 4) && hearing.isSure(of: 5))
  }

  @Test mutating func aReplyIsHeardOnce() {
    let place = FleetPosition(3, 1)
    let isNew = [place, place].map { hearing.take(reply: $0) }
    #expect(isNew == [true, false])
  }
}
