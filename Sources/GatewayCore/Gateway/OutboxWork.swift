/// A call that concerns entries of the outbox. What it has begun goes on whether its client waits for the answer or not.
final class OpenOutboxWork: OpenCall {
  let id: RequestID?

  init(_ id: RequestID?) { self.id = id }

  var outlivesStop: Bool { true }
}

/// Something that is done to many entries of the outbox: a portion in each turn, so that the loop serves the others in
/// between. Done when every portion was, and when the disk has decided everything that was awaited.
final class OutboxWork {
  struct Result {
    /// How many entries it concerned.
    var count = 0
    /// How many decisions of the disk were refusals.
    var refused = 0
    /// Why the first of them was.
    var problem: OutboxProblem?
  }

  private var result = Result()
  private var left = 1
  private let done: (Result) -> Void

  /// How many entries it concerned so far.
  var count: Int {
    get { result.count }
    set { result.count = newValue }
  }

  /// Entries per turn: few milliseconds.
  static let portion = 500

  init(_ done: @escaping (Result) -> Void) { self.done = done }

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
    if let problem {
      result.refused += 1
      result.problem = result.problem ?? problem
    }
    left -= 1
    if left == 0 { done(result) }
  }
}
