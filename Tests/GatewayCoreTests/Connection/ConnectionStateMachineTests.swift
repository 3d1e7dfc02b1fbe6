@testable import GatewayCore
import Testing

@Suite struct ConnectionStateMachineTests {
  typealias Machine = ConnectionStateMachine
  typealias Event = ConnectionStateMachine.Event

  /// What one pair of the table must give: the actions and the state afterwards; nil for an error.
  struct Outcome: Equatable, Sendable {
    var actions: [Machine.Action]
    var state: ConnectionState
    init(_ actions: [Machine.Action], _ state: ConnectionState) {
      self.actions = actions
      self.state = state
    }
  }

  struct Row: Sendable {
    /// The events that lead a new machine to where the pair is asked.
    var path: [Event]
    var from: ConnectionState
    var event: Event
    var expected: Outcome?
  }

  static let toConnected: [Event] = [.connect, .opened]
  static let toDisconnected: [Event] = [.connect, .lost]
  static let toReconnecting: [Event] = [.connect, .lost, .connect]
  static let toReleased: [Event] = [.connect, .lost, .release]

  static let table: [Row] = [
    Row(path: [], from: .created, event: .connect, expected: Outcome([.startAttempt], .created)),
    Row(path: [], from: .created, event: .disconnect, expected: nil),
    Row(path: [], from: .created, event: .release, expected: nil),
    Row(
      path: [], from: .created, event: .opened,
      expected: Outcome([.announce(from: .created, to: .connected), .drainQueue], .connected)),
    Row(
      path: [], from: .created, event: .lost,
      expected: Outcome([.discardChannel, .announce(from: .created, to: .disconnected)], .disconnected)),

    Row(path: [.connect], from: .created, event: .connect, expected: nil),
    Row(path: [.connect], from: .created, event: .disconnect, expected: nil),
    Row(path: [.connect], from: .created, event: .release, expected: nil),
    Row(
      path: [.connect], from: .created, event: .opened,
      expected: Outcome([.announce(from: .created, to: .connected), .drainQueue], .connected)),
    Row(
      path: [.connect], from: .created, event: .lost,
      expected: Outcome([.discardChannel, .announce(from: .created, to: .disconnected)], .disconnected)),

    Row(path: toConnected, from: .connected, event: .connect, expected: nil),
    Row(
      path: toConnected, from: .connected, event: .disconnect,
      expected: Outcome([.closeChannel, .announce(from: .connected, to: .disconnected)], .disconnected)),
    Row(path: toConnected, from: .connected, event: .release, expected: nil),
    Row(path: toConnected, from: .connected, event: .opened, expected: Outcome([], .connected)),
    Row(
      path: toConnected, from: .connected, event: .lost,
      expected: Outcome([.discardChannel, .announce(from: .connected, to: .disconnected)], .disconnected)),

    Row(
      path: toDisconnected, from: .disconnected, event: .connect,
      expected: Outcome([.announce(from: .disconnected, to: .reconnecting), .startAttempt], .reconnecting)),
    Row(path: toDisconnected, from: .disconnected, event: .disconnect, expected: Outcome([], .disconnected)),
    Row(
      path: toDisconnected, from: .disconnected, event: .release,
      expected: Outcome([.announce(from: .disconnected, to: .released), .removeFromPool], .released)),
    Row(path: toDisconnected, from: .disconnected, event: .opened, expected: nil),
    Row(path: toDisconnected, from: .disconnected, event: .lost, expected: Outcome([], .disconnected)),

    Row(path: toReconnecting, from: .reconnecting, event: .connect, expected: nil),
    Row(
      path: toReconnecting, from: .reconnecting, event: .disconnect,
      expected: Outcome([.closeChannel, .announce(from: .reconnecting, to: .disconnected)], .disconnected)),
    Row(path: toReconnecting, from: .reconnecting, event: .release, expected: nil),
    Row(
      path: toReconnecting, from: .reconnecting, event: .opened,
      expected: Outcome([.announce(from: .reconnecting, to: .connected), .drainQueue], .connected)),
    Row(
      path: toReconnecting, from: .reconnecting, event: .lost,
      expected: Outcome([.discardChannel, .announce(from: .reconnecting, to: .disconnected)], .disconnected)),

    Row(path: toReleased, from: .released, event: .connect, expected: nil),
    Row(path: toReleased, from: .released, event: .disconnect, expected: nil),
    Row(path: toReleased, from: .released, event: .release, expected: nil),
    Row(path: toReleased, from: .released, event: .opened, expected: nil),
    Row(path: toReleased, from: .released, event: .lost, expected: nil),
  ]

  static func machine(after path: [Event]) throws -> Machine {
    var machine = Machine()
    for event in path { _ = try machine.handle(event) }
    return machine
  }

  @Test func everyPairOfTheTableGivesItsOutcome() throws {
    for row in Self.table {
      var machine = try Self.machine(after: row.path)
      #expect(machine.state == row.from)
      if let expected = row.expected {
        #expect(Outcome(try machine.handle(row.event), machine.state) == expected, "\(row)")
      } else {
        let before = machine
        #expect(throws: IllegalTransition(state: row.from, asked: row.event)) { try machine.handle(row.event) }
        #expect(machine == before, "an illegal transition changes nothing: \(row)")
      }
    }
  }

  @Test func theTableHasEveryPair() {
    let pairs = Set(Self.table.map { "\($0.from) \($0.event)" })
    #expect(pairs.count == ConnectionState.allCases.count * Event.allCases.count)
  }

  @Test func anAttemptIsUnderWayFromConnectToItsOutcome() throws {
    var machine = Machine()
    var seen = [machine.attemptIsUnderWay]
    for event: Event in [.connect, .lost, .connect, .opened, .disconnect] {
      _ = try machine.handle(event)
      seen.append(machine.attemptIsUnderWay)
    }
    #expect(seen == [false, true, false, true, false, false])
  }

  @Test func anIllegalTransitionNamesBothStates() {
    let error = IllegalTransition(state: .connected, asked: .release)
    #expect(error.target == .released)
    #expect(error.description == "'release' would make a connected connection released, which is not allowed")
  }

  @Test func noSequenceOfEventsLeavesTheDrawnTransitions() throws {
    let drawn: [ConnectionState: Set<ConnectionState>] = [
      .created: [.connected, .disconnected], .connected: [.disconnected],
      .disconnected: [.reconnecting, .released], .reconnecting: [.connected, .disconnected], .released: [],
    ]
    let random = FakeRandom(seed: 1)
    for _ in 0..<200 {
      var machine = Machine()
      for _ in 0..<30 {
        let before = machine.state
        let event = Event.allCases[Int(random.bits() % UInt64(Event.allCases.count))]
        let actions = (try? machine.handle(event)) ?? []
        guard machine.state != before else { continue }
        #expect(drawn[before]?.contains(machine.state) == true)
        #expect(actions.contains(.announce(from: before, to: machine.state)))
      }
    }
  }

  @Test func everyCommandIsAdmittedByItsTable() {
    let table: [(ConnectionState, [CommandAdmission])] = [
      (.created, [.queue, .queue, .keep]), (.connected, [.write, .write, .keep]),
      (.disconnected, [.queue, .queue, .keep]), (.reconnecting, [.queue, .queue, .keep]),
      (.released, [.illegal, .illegal, .illegal]),
    ]
    #expect(table.map(\.0) == ConnectionState.allCases)
    for (state, expected) in table {
      #expect(CommandAdmission.Operation.allCases.map { Machine.admits($0, in: state) } == expected, "\(state)")
    }
  }
}
