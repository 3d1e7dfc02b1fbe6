import GatewayCore

/// The outbox's store: gathers what one turn of the loop wants written, hands it to the writer's thread at once, and
/// brings its answers back. The writer's inbox needs no bound of its own: whatever is in it counts in the outbox's
/// limits. Decision 0032.
final class DiskOutbox: OutboxStore {
  private let loop: EventLoop
  private let writer: OutboxWriter
  private var source: EventLoop.IOSource?
  private var gathered = OutboxWriter.Batch()
  /// How many changes are expected in the next batch.
  private var room = 0
  private var isPosting = false
  private lazy var posting: () -> Void = { [weak self] in self?.post() }
  /// Those that wait for the disk, in order; the first `decided` of them have heard, and are nil.
  private var waiting: [OutboxWaiter?] = []
  private var decided = 0
  private var whenClosed: (() -> Void)?
  var onDecision: ((StorageProblem?) -> Void)?
  var onWarning: ((StorageProblem?) -> Void)?
  /// Rings when what no caller waits for has waited long enough here.
  private var timer: Timers.ID?
  /// Not the writer's: each handing over takes its lock, and every turn of the loop may note something. Together they
  /// are how much of what is noted a crash costs.
  private static let patience: Duration = .milliseconds(10)
  /// Places for callers that are kept while none waits.
  private static let keptCapacity = 1_024

  init(loop: EventLoop, database: OutboxDatabase) throws(SystemError) {
    self.loop = loop
    writer = try OutboxWriter(database)
    source = try loop.receive(from: writer.mailbox) { [unowned self] in heard($0) }
  }

  deinit {
    loop.timers.cancel(timer)
    writer.close()
  }

  func commit(_ change: consuming OutboxChange, _ waiter: consuming OutboxWaiter) {
    waiting.append(consume waiter)
    gathered.append(change, isAwaited: true)
    guard !isPosting else { return }
    isPosting = true
    loop.onNextTurn(posting)
  }

  /// The writer is not woken for it: a change that a client waits for may follow.
  func note(_ change: consuming OutboxChange) {
    gathered.append(change, isAwaited: false)
    guard !isPosting, timer == nil else { return }
    timer = loop.timers.after(Self.patience) { [weak self] in
      self?.timer = nil
      self?.post()
    }
  }

  func close(_ done: @escaping () -> Void) {
    whenClosed = done
    closeOnceDecided()
  }

  /// What the last answers lead to is written as well.
  private func closeOnceDecided() {
    guard whenClosed != nil else { return }
    post()
    if waiting.isEmpty { writer.close() }
  }

  private func post() {
    isPosting = false
    guard !gathered.isEmpty else { return }
    // As many will come again, while many come; now and then few come in between.
    room = min(max(gathered.count, room - (room + 7) / 8), Self.keptCapacity)
    writer.post(gathered)
    gathered = OutboxWriter.Batch(room: room > 4 ? room : 0)
  }

  private func forgetDecided() {
    if decided == waiting.count {
      waiting.removeAll(keepingCapacity: decided <= Self.keptCapacity)
    } else if decided * 2 > waiting.count {
      waiting.removeFirst(decided)
    } else {
      return
    }
    decided = 0
  }

  private func heard(_ letter: OutboxWriter.Letter) {
    switch letter {
    case .decided(let problem, let batch):
      onDecision?(problem)
      for _ in 0..<batch.awaited where decided < waiting.count {
        let waiter = waiting[decided].take()
        decided += 1
        waiter?.hear(problem)
      }
      forgetDecided()
      closeOnceDecided()
    case .warned(let problem): onWarning?(problem)
    case .closed:
      source = nil
      whenClosed?()
      whenClosed = nil
    }
  }
}
