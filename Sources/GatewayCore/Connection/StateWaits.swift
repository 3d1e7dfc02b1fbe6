/// The calls that wait until a connection is in a state, by that state.
struct StateWaits {
  private var lines: [ConnectionState: StateWait.Line] = [:]

  /// Calls back once, when the state is entered.
  mutating func add(_ state: ConnectionState, cost: Int, _ done: @escaping () -> Void) -> StateWait {
    let line = lines[state] ?? StateWait.Line()
    lines[state] = line
    return StateWait(in: line, cost: cost, done)
  }

  /// The state was entered. Takes out those that waited for it; nil where none did.
  mutating func take(_ state: ConnectionState) -> StateWait.Line? {
    guard let line = lines.removeValue(forKey: state), !line.waits.isEmpty else { return nil }
    line.isReached = true
    return line
  }
}

/// A call that waits for a state.
final class StateWait {
  /// Those that wait for the same.
  final class Line {
    fileprivate var waits = TombstoneQueue<StateWait>()
    /// The state was entered: those that are left are told so in portions.
    fileprivate(set) var isReached = false

    /// Tells the next one, and returns what that counts; nil where none is left.
    func tellNext() -> Int? {
      guard let wait = waits.popFirst() else { return nil }
      wait.done()
      return wait.cost
    }
  }

  private let line: Line
  private let cost: Int
  private let done: () -> Void
  private var place: UInt64 = 0

  fileprivate init(in line: Line, cost: Int, _ done: @escaping () -> Void) {
    (self.line, self.cost, self.done) = (line, cost, done)
    place = line.waits.append(self)
  }

  /// The state was entered since; the call may not have been told yet.
  var isReached: Bool { line.isReached }

  /// The call does not wait any more.
  func cancel() { line.waits.remove(at: place) }
}
