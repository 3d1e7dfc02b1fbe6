import Testing

@testable import GatewayCore

@Suite struct FleetAdoptedSendsTests {
  private func send(_ host: String, _ number: UInt64) throws -> FleetSend {
    var fields = FleetFields()
    fields.add("i", number)
    PreparedMessage(event: "m", body: []).add(to: &fields)
    return try #require(FleetSend(name: "\(host)/\(number)", fields, place: FleetPlace(fleet: "f", upstream: "u")))
  }

  private func names(_ sends: FleetAdoptedSends) -> [String] { sends.next(.max, behind: nil).map(\.name) }

  @Test func theyStandInTheirOrderHoweverTheyCome() throws {
    var sends = FleetAdoptedSends()
    for (host, number) in [("c", 1), ("b", 10), ("b", 9), ("c", 1)] as [(String, UInt64)] {
      sends.add(try send(host, number))
    }
    #expect(names(sends) == ["b/9", "b/10", "c/1"] && sends.count == 3)
    let second = try send("b", 10).rank
    sends.remove("b/10")
    #expect(sends.next(1, behind: second).map(\.name) == ["c/1"])
    #expect(names(sends) == ["b/9", "c/1"])
  }

  @Test func theyAreForgottenInPortions() throws {
    var sends = FleetAdoptedSends()
    for number in 1...1_000 as ClosedRange<UInt64> { sends.add(try send("b", number)) }
    while !sends.isEmpty {
      let before = sends.count
      sends.dropPortion()
      #expect(before - sends.count <= SortedSet<FleetSend.Rank>.blockLimit)
    }
    #expect(sends.count == 0)
  }
}
