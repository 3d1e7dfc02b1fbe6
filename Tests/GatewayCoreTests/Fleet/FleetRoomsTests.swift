import Testing

@testable import GatewayCore

@Suite struct FleetRoomsTests {
  private func entering(_ text: String, attachments: [[UInt8]] = []) -> FleetRooms.Entering {
    FleetRooms.Entering(PreparedMessage(event: "join", body: Array(text.utf8), attachments: attachments))
  }

  private func leave(_ text: String) -> PreparedLeave {
    PreparedLeave(message: PreparedMessage(event: "leave", body: Array(text.utf8)), wantsAck: false)
  }

  @Test func itIsLeftByTheLastHostAndByItsOwnWord() {
    var rooms = FleetRooms()
    for host in ["a", "b", "b"] { rooms.enter(entering("1"), host, leave: leave("given")) }
    #expect(rooms.leave(entering("1"), "a", by: leave("by a")) == nil && rooms.isHeld(entering("1")))
    #expect(rooms.leave(entering("1"), "b", by: leave("by b")) == leave("by b") && !rooms.isHeld(entering("1")))
  }

  @Test func whatAHostHasNamedThatLeftBeforeTheOthersUndoesItToo() {
    var rooms = FleetRooms()
    for host in ["a", "b"] { rooms.enter(entering("1"), host, leave: nil) }
    #expect(rooms.leave(entering("1"), "a", by: leave("by a")) == nil)
    #expect(rooms.leave(entering("1"), "b", by: nil) == leave("by a"))
  }

  @Test func whatWouldHaveBeenSaidForAHostDoesNotCountWhereItHasNothingToSay() {
    var rooms = FleetRooms()
    rooms.enter(entering("1"), "a", leave: leave("given"))
    #expect(rooms.leave(entering("1"), "a", by: nil) == nil && !rooms.isHeld(entering("1")))
  }

  @Test func aHostThatHasNotEnteredLeavesOnlyWhatNoOtherHolds() {
    var rooms = FleetRooms()
    #expect(rooms.leave(entering("1"), "a", by: leave("1")) == leave("1"))
    rooms.enter(entering("1"), "b", leave: nil)
    #expect(rooms.leave(entering("1"), "a", by: leave("1")) == nil)
  }

  @Test func whatAHostHoldsIsKnownInItsOrder() {
    var rooms = FleetRooms()
    for number in 0..<50 { rooms.enter(entering("\(number)"), "a", leave: leave("\(number)")) }
    rooms.enter(entering("none"), "a", leave: nil)
    rooms.enter(entering("7"), "b", leave: nil)
    let held = rooms.held(by: "a")
    #expect(held.map(\.entering) == (0..<50).map { entering("\($0)") } + [entering("none")])
    let undone = held.compactMap { rooms.leave($0.entering, "a", by: $0.leave) }
    #expect(undone == (0..<50).filter { $0 != 7 }.map { leave("\($0)") })
    #expect(rooms.held(by: "a").isEmpty && !rooms.isHeld(entering("none")) && rooms.isHeld(entering("7"), by: "b"))
    #expect(rooms.leave(entering("7"), "b", by: nil) == leave("7"))
  }

  @Test func messagesAreEqualWhereAllBytesAre() {
    #expect(entering("1", attachments: [[1]]) == entering("1", attachments: [[1]]))
    #expect(entering("1", attachments: [[1]]) != entering("1", attachments: [[2]]))
    #expect(entering("1") != entering("1", attachments: [[]]))
    // Two spellings of one letter.
    let (composed, decomposed) = ("\u{e9}", "e\u{301}")
    let spellings = [composed, decomposed].map { FleetRooms.Entering(PreparedMessage(event: $0, body: [])) }
    #expect(composed == decomposed && spellings[0] != spellings[1])
  }

  @Test func whatAHostHoldsBeyondItsLimitIsNotCounted() {
    var rooms = FleetRooms()
    for number in 0...FleetRooms.hostLimit.count { rooms.enter(entering("\(number)"), "a", leave: nil) }
    #expect(!rooms.isHeld(entering("\(FleetRooms.hostLimit.count)")) && rooms.isHeld(entering("0")))
    #expect(rooms.leave(entering("0"), "a", by: nil) == nil)
    rooms.enter(entering("again"), "a", leave: nil)
    #expect(rooms.isHeld(entering("again")))
    let long = String(repeating: "x", count: FleetRooms.hostLimit.bytes)
    rooms.enter(entering(long), "b", leave: nil)
    #expect(!rooms.isHeld(entering(long)))
  }
}
