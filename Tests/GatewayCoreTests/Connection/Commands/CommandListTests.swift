import Testing

@testable import GatewayCore

@Suite struct CommandListTests {
  private func list(_ places: [UInt64]) -> CommandList {
    var list = CommandList()
    for place in places { list.insert(CommandQueueTests.command("c\(place)"), at: place) }
    return list
  }

  private func ids(_ list: CommandList) -> [String] { list.all.map(\.id) }

  @Test func whatComesBackStandsWhereItStood() {
    var list = list([1, 2, 3, 5])
    for place in [1, 2, 5] as [UInt64] { list.remove(at: place) }
    #expect((list.firstPlace, list.count) == (3, 1))
    for place in [2, 4, 1] as [UInt64] { list.insert(CommandQueueTests.command("c\(place)"), at: place) }
    #expect(ids(list) == ["c1", "c2", "c3", "c4"])
  }

  @Test func aPlaceThatNobodyHasIsPassedOver() {
    var list = list([1, 2, 3, 4])
    list.remove(at: 2)
    list.remove(at: 2)
    list.remove(at: 9)
    #expect((list.nextPlace(from: 2), list.nextPlace(from: 5), list.count) == (3, nil, 3))
    #expect((list.command(at: 2), list.command(at: 3)?.id) == (nil, "c3"))
  }

  @Test(arguments: [[], [4], [1, 2, 3], [1, 6, 9], [11, 12]] as [[UInt64]])
  func manyComeBackToTheirPlacesAtOnce(_ places: [UInt64]) {
    var list = list([0, 5, 7, 8, 10])
    list.remove(at: 0)
    list.remove(at: 7)
    list.insert(places.map { ($0, CommandQueueTests.command("c\($0)")) })
    let all = ([5, 8, 10] + places).sorted()
    #expect(ids(list) == all.map { "c\($0)" })
    #expect((list.count, list.firstPlace) == (all.count, all.first))
    for place in all { #expect(list.command(at: place)?.id == "c\(place)") }
    for place in all { list.remove(at: place) }
    #expect(list.isEmpty)
  }

  @Test func holesBehindTheFirstOneGoWhenTheyAreTheMajority() {
    var list = list(Array(0..<1_000))
    for place in 1..<999 as Range<UInt64> { list.remove(at: place) }
    #expect(ids(list) == ["c0", "c999"])
    #expect((list.nextPlace(from: 1), list.command(at: 999)?.id) == (999, "c999"))
    list.remove(at: 0)
    list.remove(at: 999)
    #expect(list.isEmpty && list.firstPlace == nil)
    list.insert(CommandQueueTests.command("new"), at: 1_000)
    #expect(ids(list) == ["new"])
  }
}
