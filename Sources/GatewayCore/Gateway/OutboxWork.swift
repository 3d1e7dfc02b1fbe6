/// Something that is done to many entries of the outbox: a portion in each turn, so that the loop serves the others in
/// between. Done when every portion was, and when the disk has decided everything that was awaited.
final class OutboxWork {
  /// How many entries it concerned so far.
  var count = 0
  private var left = 1
  private var problem: OutboxProblem?
  private let done: (Int, OutboxProblem?) -> Void

  /// Entries per turn: few milliseconds.
  static let portion = 500

  init(_ done: @escaping (Int, OutboxProblem?) -> Void) { self.done = done }

  /// One more decision of the disk is awaited; what is returned hears it.
  func awaited() -> (OutboxProblem?) -> Void {
    left += 1
    return { [self] in decided($0) }
  }

  func run(
    _ records: ArraySlice<OutboxRecord>, on gateway: Gateway,
    _ body: @escaping (Gateway, OutboxRecord, OutboxWork) -> Void
  ) {
    for record in records.prefix(Self.portion) { body(gateway, record, self) }
    let rest = records.dropFirst(Self.portion)
    guard !rest.isEmpty else { return decided(nil) }
    gateway.seams.timers.after(.zero) { [weak gateway] in
      guard let gateway else { return }
      self.run(rest, on: gateway, body)
    }
  }

  private func decided(_ problem: OutboxProblem?) {
    self.problem = self.problem ?? problem
    left -= 1
    if left == 0 { done(count, self.problem) }
  }
}
