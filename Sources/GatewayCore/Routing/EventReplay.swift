/// What a returning subscriber still gets: events and, where some are missing, gaps, in their order.
struct EventReplay {
  var items: [Backlog.Item] = []
  /// Whether everything that was asked for is among the items.
  var isComplete = true
  /// How many of the items are events.
  var eventCount = 0

  fileprivate mutating func append(_ sequence: UInt64, _ content: EventHistory.Content, epoch: String) {
    switch content {
    case .event(let tail):
      items.append(.event(sequence: sequence, tail: tail))
      eventCount += 1
    case .hole(let reason, _):
      isComplete = false
      items.append(.gap(Backlog.Gap(epoch: epoch, range: sequence...sequence, count: 1, reason: reason)))
    }
  }

  fileprivate mutating func miss(_ range: ClosedRange<UInt64>?, _ reason: GapReason, epoch: String) {
    isComplete = false
    let count = range.map { $0.upperBound - $0.lowerBound + 1 }
    items.append(.gap(Backlog.Gap(epoch: epoch, range: range, count: count, reason: reason)))
  }
}

extension EventStream {
  /// What is kept of the events that somebody asks for. Of what is gone the names are not known: a gap `expired` counts
  /// every event.
  func replay(_ resume: SubscribeCall.Resume?, _ filter: EventFilter) -> EventReplay {
    history.trim(time.now)
    switch resume {
    case nil: return EventReplay()
    case .last(let count): return replay(last: count, filter)
    case .since(let epoch, let sequence): return replay(since: sequence, of: epoch, filter)
    }
  }

  private func replay(since sequence: UInt64, of wanted: String, _ filter: EventFilter) -> EventReplay {
    var replay = EventReplay()
    var next = history.oldest
    if wanted != epoch || sequence > self.sequence {
      replay.miss(nil, .upstream, epoch: epoch)
    } else if sequence + 1 < next {
      replay.miss(sequence + 1...next - 1, .expired, epoch: epoch)
    } else {
      next = sequence + 1
    }
    while let content = history.content(next) {
      if content.matches(filter) { replay.append(next, content, epoch: epoch) }
      next += 1
    }
    return replay
  }

  /// The newest that match. Fewer are complete only if the epoch has had no others.
  private func replay(last count: Int, _ filter: EventFilter) -> EventReplay {
    var found: [UInt64] = []
    var next = sequence
    while found.count < count, let content = history.content(next) {
      if content.matches(filter) { found.append(next) }
      next -= 1
    }
    var replay = EventReplay()
    if found.count < count, epochStart + 1 < history.oldest {
      replay.miss(epochStart + 1...history.oldest - 1, .expired, epoch: epoch)
    }
    for sequence in found.reversed() {
      if let content = history.content(sequence) { replay.append(sequence, content, epoch: epoch) }
    }
    return replay
  }
}
