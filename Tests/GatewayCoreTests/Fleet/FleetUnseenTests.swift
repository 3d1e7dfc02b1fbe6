import Testing

@testable import GatewayCore

@Suite struct FleetUnseenTests {
  private func write(_ number: UInt64, row: String? = nil) -> FleetUnseen.Write {
    FleetUnseen.Write(sender: .host("b", life: 1, number: number, row: row), isAll: true)
  }

  /// Takes what the server's machine has.
  private func seen(_ unseen: inout FleetUnseen, unsent: Int) -> [FleetUnseen.Write] {
    var all: [FleetUnseen.Write] = []
    while let write = unseen.takeSeen(unsent: unsent) { all.append(write) }
    return all
  }

  @Test func whatTheLinkHasTakenIsSeenInItsOrder() {
    var unseen = FleetUnseen()
    unseen.append(write(1), bytes: 10)
    unseen.append(write(2))
    unseen.append(write(3), bytes: 5)
    let found = [15, 6, 5, 1, 0].map { seen(&unseen, unsent: $0) }
    #expect(found == [[], [], [write(1), write(2)], [], [write(3)]])
    #expect(unseen.isEmpty)
  }

  /// Such as a sign of life of the link itself.
  @Test func whatOthersHaveWrittenIsWaitedForAsWell() {
    var unseen = FleetUnseen()
    unseen.append(write(1))
    let found = [7, 0].map { seen(&unseen, unsent: $0) }
    #expect(found == [[], [write(1)]])
  }
}
