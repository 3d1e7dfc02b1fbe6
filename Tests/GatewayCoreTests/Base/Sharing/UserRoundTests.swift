import Testing

@testable import GatewayCore

/// Turns that go round over users.
@Suite struct UserRoundTests {
  private func drained(_ round: UserRound<String>) -> [String] {
    var round = round
    var all: [String] = []
    while let next = round.popFirst() { all.append(next) }
    return all
  }

  @Test func whoeverHasManyWaitingGetsOneTurnAndThenTheOthersDo() {
    var round = UserRound<String>()
    for number in 1...4 { round.append("a\(number)", for: .user(1)) }
    for number in 1...2 { round.append("b\(number)", for: .user(2)) }
    round.append("c1", for: .configuration)
    #expect(round.count == 7)
    #expect(drained(round) == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"])
  }

  @Test func whoComesBackStandsBehindThoseWhoWait() {
    var round = UserRound<String>()
    round.append("a1", for: .user(1))
    round.append("b1", for: .user(2))
    #expect(round.popFirst() == "a1")
    round.append("a2", for: .user(1))
    #expect(drained(round) == ["b1", "a2"])
  }

  @Test func whatDoesNotWaitAnyMoreLeavesTheOthersInTheirPlaces() {
    var round = UserRound<String>()
    for number in 1...3 { round.append("a\(number)", for: .user(1)) }
    round.append("b1", for: .user(2))
    round.append("c1", for: .user(3))
    round.removeAll { $0 == "a2" || $0 == "b1" }
    #expect(round.count == 3)
    #expect(drained(round) == ["a1", "c1", "a3"])
  }

  @Test func whatOneUserDoesNotWaitForAnyMoreLeavesOthersWhereTheyAre() {
    var round = UserRound<String>()
    for number in 1...3 { round.append("a\(number)", for: .user(1)) }
    for number in 1...2 { round.append("b\(number)", for: .user(2)) }
    round.removeAll(of: .user(1)) { $0 == "a2" || $0 == "b1" }
    #expect(round.count == 4)
    #expect(drained(round) == ["a1", "b1", "a3", "b2"])
    round.removeAll(of: .user(2)) { _ in true }
    round.removeAll(of: .user(3)) { _ in true }
    #expect(round.count == 2)
    round.append("b3", for: .user(2))
    #expect(drained(round) == ["a1", "b3", "a3"])
  }

  @Test(arguments: UInt64(0)..<40) func howManyGoBeforeANewOneIsRoughlyKnown(seed: UInt64) {
    let random = FakeRandom(seed: seed)
    var round = UserRound<String>()
    for number in 0..<Int(random.bits() % 30) { round.append("\(number)", for: .user(UInt32(random.bits() % 4))) }
    for _ in 0..<Int(random.bits() % 10) { _ = round.popFirst() }
    for user: UInt32 in 0..<5 {
      var other = round
      other.append("new", for: .user(user))
      #expect(abs(drained(other).firstIndex(of: "new").map { $0 - round.ahead(of: .user(user)) } ?? 99) <= 3)
    }
  }
}
