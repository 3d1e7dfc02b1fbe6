@testable import GatewayCore

/// A disk that the test plays: changes wait until it lets them through, or fails them.
final class FakeOutboxStore: OutboxStore {
  private(set) var entries: [UInt64: OutboxEntry] = [:]
  /// With who waits for a change that is awaited.
  private var waiting: [(change: OutboxChange, waiter: OutboxWaiter?)] = []
  private(set) var isClosed = false
  /// How many changes reached the disk.
  private(set) var written = 0
  /// Answers at the next `settle`; nil writes.
  var problem: StorageProblem?

  var onDecision: ((StorageProblem?) -> Void)?
  var onWarning: ((StorageProblem?) -> Void)?

  var stored: [OutboxEntry] { entries.values.sorted { $0.number < $1.number } }
  var waitingCount: Int { waiting.count }

  func commit(_ change: OutboxChange, _ waiter: OutboxWaiter) { waiting.append((change, waiter)) }

  /// The process ends, and with it what had not reached the disk.
  func forgetWaiting() { waiting = [] }

  /// Behind what waits, as on a disk.
  func note(_ change: OutboxChange) {
    guard waiting.isEmpty else { return waiting.append((change, nil)) }
    if problem == nil { apply(change) }
  }

  func close(_ done: @escaping () -> Void) {
    isClosed = true
    settle()
    if holdsClose { heldClose = done } else { done() }
  }

  /// Whether the disk takes its time at the end.
  var holdsClose = false
  private var heldClose: (() -> Void)?

  /// The disk decides the oldest so many changes; unless told all, with those that follow from them.
  func settle(_ count: Int = .max) {
    var left = count
    while left > 0, !waiting.isEmpty {
      left -= 1
      let (change, waiter) = waiting.removeFirst()
      if problem == nil { apply(change) }
      guard let waiter else { continue }
      onDecision?(problem)
      waiter.hear(problem)
    }
  }

  private func apply(_ change: OutboxChange) {
    written += 1
    switch change {
    case .add(let snapshot), .addEnded(let snapshot), .update(let snapshot):
      entries[snapshot.entry.number] = snapshot.entry
    case .replace(let number, let snapshot):
      entries[number] = nil
      entries[snapshot.entry.number] = snapshot.entry
    case .remove(let number): entries[number] = nil
    case .shift(let step): entries = entries.mapValues { $0.moved(by: step) }
    }
  }
}
