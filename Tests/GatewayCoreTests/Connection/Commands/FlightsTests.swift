import Testing

@testable import GatewayCore

@Suite struct FlightsTests {
  private static let now = MonotonicInstant(nanoseconds: 0)

  private static func command(line: UInt32? = nil) -> Command {
    let command = CommandQueueTests.command("c")
    command.retry = line.map { Retry(again: 3, line: $0) }
    return command
  }

  @Test func theAcknowledgementOfAnyWriteIsTheCommands() {
    var flights = Flights()
    let command = Self.command(line: 7)
    let acks = [flights.begin(command, at: Self.now), flights.begin(command, at: Self.now)]
    #expect(acks.allSatisfy { flights[$0] == command })
    #expect((flights.count, flights.count(inLine: 7), command.retry?.writes) == (1, 1, 2))
    #expect(flights.end(command)?.acks == acks)
    #expect(acks.allSatisfy { flights[$0] == nil })
    #expect(flights.isEmpty && !flights.hasRetries && flights.end(command) == nil)
  }

  /// Against a plain list of what is under way.
  @Test(arguments: 0..<20)
  func whatIsUnderWayIsKnownAfterAnyOperations(_ seed: UInt64) {
    let random = FakeRandom(seed: seed)
    func pick(_ bound: Int) -> Int { Int(random.bits() % UInt64(bound)) }
    var flights = Flights()
    var model: [(command: Command, acks: [UInt64])] = []
    for _ in 0..<2_000 {
      switch pick(3) {
      case 0:
        let command = Self.command(line: pick(2) == 0 ? nil : UInt32(pick(3)))
        model.append((command, [flights.begin(command, at: Self.now)]))
      case 1 where !model.isEmpty:
        let index = pick(model.count)
        if model[index].command.retry != nil {
          model[index].acks.append(flights.begin(model[index].command, at: Self.now))
        }
      default:
        guard !model.isEmpty else { continue }
        let (command, acks) = model.remove(at: pick(model.count))
        #expect(flights.end(command)?.acks == acks)
        #expect(acks.allSatisfy { flights[$0] == nil } && command.flight == nil)
      }
      #expect(flights.count == model.count)
      for line in 0..<UInt32(3) {
        #expect(flights.count(inLine: line) == model.count { $0.command.retry?.line == line })
      }
    }
    #expect(model.allSatisfy { entry in entry.acks.allSatisfy { flights[$0] == entry.command } })
    #expect(flights.retries == model.filter { $0.command.retry != nil }.map(\.command))
    let others = model.filter { $0.command.retry == nil }.map(\.command)
    #expect(flights.otherCount == others.count && flights.others.allSatisfy(others.contains))
    let lost = flights.takeOthers()
    #expect(flights.count == model.count - others.count && lost.count == others.count)
    #expect((0..<others.count).map { _ in lost.popFirst()?.command } == others && lost.count == 0)
  }
}
