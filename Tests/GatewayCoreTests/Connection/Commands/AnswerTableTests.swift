import Testing

@testable import GatewayCore

@Suite struct AnswerTableTests {
  private let outputs = ClientOutputs()
  /// Clients of two users.
  private let clients: [ClientOutputs.Pointer]

  init() { clients = [1, 2].map { [outputs] in outputs.add(tag: 0, for: .user($0)) } }

  @Test func whatOneUsersProgramsDoNotAnswerPushesOutNothingThatAnotherUserWasAsked() {
    var table = AnswerTable()
    for id in 1...10 { _ = table.add(UInt64(id), as: "other\(id)", of: "ask", for: [clients[1]]) }
    for id in 11...13 { _ = table.add(UInt64(id), as: "both\(id)", of: "ask", for: clients) }
    var pushedOut: [UInt64] = []
    for id in 100..<(100 + UInt64(AnswerTable.limit)) {
      pushedOut += table.add(id, as: "t\(id)", of: "ask", for: [clients[0]])
    }
    #expect(pushedOut == (100...112).map { UInt64($0) })
    #expect((1...10).allSatisfy { table.isPending("other\($0)") })
    #expect((11...13).allSatisfy { table.isPending("both\($0)") })
  }

  @Test func whatVeryManyOfOneUsersProgramsWereAskedPushesOutNothingThatManyOfAnotherWereAsked() {
    var table = AnswerTable()
    let dozen = Array(repeating: clients[1], count: AnswerTable.manyFrom)
    _ = table.add(1, as: "dozen", of: "ask", for: dozen)
    let many = Array(repeating: clients[0], count: 4_096)
    for id in 11...60 { _ = table.add(UInt64(id), as: "many\(id)", of: "ask", for: many) }
    #expect(table.isPending("dozen") && !table.isPending("many11") && table.isPending("many60"))
  }

  @Test func aClientThatIsAskedByManySubscriptionsPushesOutTheOldestQuestions() {
    var table = AnswerTable()
    let many = Array(repeating: clients[0], count: AnswerTable.askedLimit / 4)
    var pushedOut: [UInt64] = []
    for id in 1...6 { pushedOut += table.add(UInt64(id), as: "t\(id)", of: "ask", for: many) }
    #expect(pushedOut == [1, 2])
    #expect(!table.isPending("t2") && table.isPending("t3"))
    #expect(table.unanswered == 2)
  }

  @Test func whatManyOfOneUsersClientsWereAskedPushesOutNothingThatFewWereAsked() {
    var table = AnswerTable()
    let few = Array(repeating: clients[1], count: AnswerTable.manyFrom - 1)
    for id in 1...10 { _ = table.add(UInt64(id), as: "few\(id)", of: "ask", for: few) }
    let many = Array(repeating: clients[0], count: 4_096)
    var pushedOut: [UInt64] = []
    for id in 11...60 { pushedOut += table.add(UInt64(id), as: "many\(id)", of: "ask", for: many) }
    #expect(pushedOut == (11...36).map { UInt64($0) })
    #expect((1...10).allSatisfy { table.isPending("few\($0)") })
  }

  @Test func oneQuestionToMoreClientsThanThatIsStillAsked() {
    var table = AnswerTable()
    let all = Array(repeating: clients[0], count: AnswerTable.askedLimit + 1)
    #expect(table.add(1, as: "a", of: "ask", for: all) == [])
    #expect(table.add(2, as: "b", of: "ask", for: [clients[1]]) == [1])
  }

  @Test func whatWasAnsweredMissedLeftOrWithdrawnCountsNoMore() {
    var table = AnswerTable()
    let quarter = Array(repeating: clients[0], count: AnswerTable.askedLimit / 4) + [clients[1]]
    for round in 0..<5 as Range<UInt64> {
      let ids = (1...3).map { 10 * round + $0 as UInt64 }
      for id in ids { #expect(table.add(id, as: "t\(id)", of: "ask", for: quarter) == []) }
      #expect(table.take("t\(ids[0])") == ids[0])
      table.withdraw(ids[1])
      #expect(!table.isPending("t\(ids[1])"))
      #expect(table.left(by: clients[0]).isEmpty)
      #expect(table.missed("t\(ids[2])", by: clients[1])?.id == ids[2])
      table.abandon("t\(ids[2])")
    }
    table.endOfLink()
    #expect(!table.hasPending)
  }

  @Test func anIdThatTheServerUsesTwiceIsWithdrawnWhereItWasUsedLast() {
    var table = AnswerTable()
    _ = table.add(7, as: "first", of: "ask", for: [clients[0]])
    _ = table.add(7, as: "second", of: "ask", for: [clients[0]])
    table.withdraw(7)
    #expect(table.isPending("first") && !table.isPending("second"))
    table.withdraw(7)
    #expect(table.take("first") == 7)
  }
}
