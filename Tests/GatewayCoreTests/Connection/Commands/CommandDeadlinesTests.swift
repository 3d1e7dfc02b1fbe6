import Testing

@testable import GatewayCore

@Suite struct CommandDeadlinesTests {
  private func at(_ nanoseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds) }
  private func command(_ id: String) -> Command { CommandQueueTests.command(id) }

  @Test func whoseTimeIsUpComesInTheOrderOfTheDeadlines() {
    var deadlines = CommandDeadlines()
    for (id, due) in [("c", 3), ("a", 1), ("d", 3), ("b", 2), ("e", 4)] as [(String, Int64)] {
      deadlines.set(at(due), for: command(id))
    }
    #expect(deadlines.takeDue(at: at(3)).map(\.id) == ["a", "b", "c", "d"])
    #expect(deadlines.next() == at(4))
    #expect(deadlines.takeDue(at: at(3)).isEmpty)
  }

  @Test func anEarlierDeadlineTakesThePlaceOfALaterOne() {
    var deadlines = CommandDeadlines()
    let command = command("a")
    deadlines.set(at(10), for: command)
    deadlines.set(at(2), for: command)
    #expect(deadlines.next() == at(2))
    #expect(deadlines.takeDue(at: at(20)) == [command])
    #expect(deadlines.next() == nil)
  }

  @Test func aDeadlineThatPassedInASleepWaitsForWhatHasComeMeanwhile() {
    var deadlines = CommandDeadlines()
    let (long, short) = (command("long"), command("short"))
    let woken = at(0) + .seconds(20)
    deadlines.set(at(5), for: long)
    deadlines.set(woken, for: short)
    #expect(deadlines.takeDue(at: woken) == [short])
    #expect(deadlines.next() == woken + CommandDeadlines.grace)
    #expect(deadlines.takeDue(at: woken + CommandDeadlines.grace) == [long])
    #expect(deadlines.next() == nil)
  }

  @Test func whatHasItsOutcomeIsNotHeldUntilItsDeadline() {
    var deadlines = CommandDeadlines()
    weak var first: Command?
    let waiting = command("waiting")
    deadlines.set(at(1_000), for: waiting)
    for number in 0..<1_000 {
      let command = command("c\(number)")
      if number == 0 { first = command }
      deadlines.set(at(1_000), for: command)
      deadlines.remove(command)
      deadlines.remove(command)
    }
    #expect(first == nil)
    #expect(deadlines.takeDue(at: at(1_000)) == [waiting])
  }
}
