/// What other hosts have of the outbox, and what they do with it.
extension OutboxRelay {
  /// A connection carries an entry that lasts.
  func keepCopy(of record: OutboxRecord) { outbox.copies?.keep(record.entry) }

  /// Says of an entry that lasts, and waits here, whether others may write it.
  private func tellCopies(of record: OutboxRecord) {
    if record.connection != nil {
      keepCopy(of: record)
    } else if record.isCommitted, !record.isElsewhere {
      outbox.copies?.withhold(record.entry)
    }
  }

  /// Copies all that waits for a target for which there is a place now that was none before, a portion in each turn from
  /// the next one on, and then calls `done`. What is carried later is copied then.
  func keepCopies(to target: OutboxTarget, then done: @escaping () -> Void) {
    keepCopies(of: outbox.usage.allLines.filter { $0.target == target }[...], from: 0, then: done)
  }

  private func keepCopies(of lines: ArraySlice<OutboxLine>, from number: UInt64, then done: @escaping () -> Void) {
    guard !lines.isEmpty else { return done() }
    timers.after(.zero) { [reference] in reference.object?.keepPortion(of: lines, from: number, then: done) }
  }

  private func keepPortion(of lines: ArraySlice<OutboxLine>, from number: UInt64, then done: @escaping () -> Void) {
    guard let line = lines.first else { return done() }
    var (next, portion) = (number, Portion(Self.copiedAtOnce, timers))
    while portion.takesMore() {
      guard let record = line.reader(from: next)?.record else {
        return keepCopies(of: lines.dropFirst(), from: 0, then: done)
      }
      tellCopies(of: record)
      next = record.entry.number + 1
    }
    keepCopies(of: lines, from: next, then: done)
  }

  /// Entries that are copied in one turn, at most.
  static let copiedAtOnce = 256

  /// Another host writes an entry from now on, because this one was taken for dead.
  func leaveElsewhere(_ number: UInt64) {
    guard let record = outbox.usage.record(number) else { return }
    detachAlone(record)
    withholdNoMore(record)
    record.setElsewhere(true)
  }

  /// No other host will: it goes back to its place.
  func takeBack(_ number: UInt64) {
    guard let record = outbox.usage.record(number), record.isElsewhere else { return }
    record.setElsewhere(false)
    record.isWatched = false
    placeIfHomeless(record)
  }

  /// It is known what became of an entry, wherever it was written.
  func conclude(_ number: UInt64, _ end: FleetSendEnd) {
    guard let record = outbox.usage.record(number), record.isCommitted else { return }
    detachAlone(record)
    withholdNoMore(record)
    record.setElsewhere(false)
    keys.note(record.entry.id, state: end.state.rawValue)
    let attempts = end.state == .sent || end.state == .acked ? max(1, record.entry.attempts) : nil
    outbox.finish(record, end.state, reason: end.reason, attempts: attempts, result: end.answer)
  }

  /// Brings an entry to the disk that is kept beyond this host alone, and tries until it is there: `done` hears that. Where
  /// there is no disk, or the entry has its outcome before that, it hears nothing.
  func bringHome(_ number: UInt64, _ done: @escaping () -> Void) {
    guard let record = outbox.usage.record(number) else { return }
    _ = outbox.rows.bringHome(record.snapshot) { [reference] problem in
      guard problem != nil else { return done() }
      guard let relay = reference.object else { return }
      relay.timers.after(Self.homePause) { [reference] in reference.object?.bringHome(number, done) }
    }
  }

  /// Until the disk is asked again for what it did not take.
  private static let homePause: Duration = .seconds(5)

  /// What becomes of a send that was found in the fleet.
  enum Adoption: Equatable {
    /// It has its outcome here.
    case ended
    /// It waits here already.
    case waiting
    /// It waits here from now on, and is kept here.
    case taken
    /// Nothing here keeps it, and so it is not here.
    case unkept(StorageProblem)
  }

  /// Takes in what another life of this host accepted, and its disk does not know. `done` hears, at once or later, what became
  /// of that; of one that is being taken in already whoever asked first does.
  func adopt(_ copy: OutboxEntry, _ done: @escaping (Adoption) -> Void) {
    let known = outbox.record(copy.id)
    if let known {
      guard known.line == nil else {
        tellCopies(of: known)
        return done(.waiting)
      }
      guard copy.number > known.entry.number else { return done(.ended) }
    } else if !outbox.isUnknown(copy.id) {
      return
    }
    guard outbox.rows.canBeKept(copy.target) else {
      return done(.unkept(outbox.rows.unavailability(of: copy.target) ?? .none))
    }
    // What had ended was sent again, and the disk had not heard of that when the daemon died.
    if let known { outbox.purge(known) { _ in } }
    var entry = copy
    entry.number = numberAgain(entry.number)
    outbox.addFound(entry) { [reference] record, problem, isAwaited in
      guard isAwaited else { return done(.ended) }
      if let problem { return done(.unkept(problem)) }
      guard let relay = reference.object else { return }
      if record.entry.key != nil { relay.keys.note(record.entry.id, state: DeliveryLevel.durable.rawValue) }
      relay.placeIfHomeless(record)
      done(.taken)
    }
  }
}
