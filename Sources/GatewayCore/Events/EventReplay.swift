/// What a returning subscriber still gets: events and, where some are missing, gaps, in their order.
struct EventReplay {
  private(set) var items: [Backlog.Item] = []
  /// Whether everything that was asked for is among the items.
  private(set) var isComplete = true
  /// How many of the items are events.
  private(set) var eventCount = 0
  /// The epoch of the first item; a gap `upstream` begins the next one.
  private(set) var epoch: String

  fileprivate init(epoch: String) { self.epoch = epoch }

  fileprivate mutating func append(_ sequence: UInt64, _ content: EventHistory.Content, epoch: String) {
    switch content {
    case .event(let tail):
      items.append(.event(sequence: sequence, tail: tail, epoch: epoch))
      eventCount += 1
    case .hole(let reason, _):
      isComplete = false
      items.append(.gap(Backlog.Gap(epoch: epoch, range: sequence...sequence, count: 1, reason: reason)))
    }
  }

  /// Events that are not kept any more. Where none of them was wanted nothing is missing.
  fileprivate mutating func expire(_ range: ClosedRange<UInt64>, count: UInt64, epoch: String) {
    guard count > 0 else { return }
    isComplete = false
    items.append(.gap(Backlog.Gap(epoch: epoch, range: range, count: count, reason: .expired)))
  }

  /// Continuity with the upstream was lost before the event behind `sequence`.
  fileprivate mutating func turn(to epoch: String, after sequence: UInt64, detail: String? = nil) {
    isComplete = false
    var gap = Backlog.Gap.lostContinuity(epoch: epoch, after: sequence)
    gap.detail = detail
    items.append(.gap(gap))
  }
}

extension EventStream {
  /// What is kept of the events that somebody asks for.
  func replay(_ resume: SubscribeCall.Resume?, _ filter: EventFilter) -> EventReplay {
    var wanted = RememberingFilter(filter)
    return replay(resume, &wanted)
  }

  /// The same with a filter that may have looked ahead.
  func replay(_ resume: SubscribeCall.Resume?, _ filter: inout RememberingFilter) -> EventReplay {
    history.trim(time.now)
    switch resume {
    case nil: return EventReplay(epoch: epoch)
    case .last(let count): return replay(last: count, &filter)
    case .since(let epoch, let sequence): return replay(since: sequence, of: epoch, &filter)
    }
  }

  private func replay(since sequence: UInt64, of wanted: String, _ filter: inout RememberingFilter) -> EventReplay {
    let spans = history.spans
    guard let named = spans.lastIndex(where: { $0.epoch == wanted }) else {
      // A number that another daemon's memory counted says nothing about what this one keeps.
      return replayAll(
        above: inherited == 0 || sequence > self.sequence ? 0 : sequence, &filter,
        because: "the epoch '\(wanted.shortened(to: 64))' is not known: its history is not kept any more, or never was")
    }
    guard sequence <= last(of: named, spans) || named < spans.count - 1 else {
      return replayAll(
        above: sequence, &filter,
        because:
          "the epoch '\(wanted.shortened(to: 64))' has no event \(sequence) yet, so what was seen was another history")
    }
    // Numbers below an epoch are those of a replay that was cut short: its reader knew the epoch from the answer.
    let first = sequence >= spans[named].start ? named : spans.lastIndex { $0.start <= sequence } ?? 0
    var replay = EventReplay(epoch: spans[first].epoch)
    for index in first..<spans.count {
      if index > first { replay.turn(to: spans[index].epoch, after: spans[index].start) }
      let start = index > first ? spans[index].start : min(sequence, last(of: index, spans))
      add(numbersAbove: max(start, spans[index].start), of: index, spans, &filter, to: &replay)
    }
    return replay
  }

  /// For somebody who was in another epoch: all of the present one, and of earlier ones what is above the number. The first
  /// gap says why.
  private func replayAll(above sequence: UInt64, _ filter: inout RememberingFilter, because detail: String)
    -> EventReplay
  {
    let spans = history.spans
    let isCurrent = { (index: Int) in index == spans.count - 1 }
    let first = spans.indices.first { isCurrent($0) || last(of: $0, spans) > sequence } ?? 0
    var replay = EventReplay(epoch: spans[first].epoch)
    for index in first..<spans.count {
      let gone = number(max(history.oldestPlace, spans[index].place), spans[index]) - 1
      let start = isCurrent(index) ? gone : max(sequence, gone)
      replay.turn(to: spans[index].epoch, after: start, detail: index == first ? detail : nil)
      add(numbersAbove: start, of: index, spans, &filter, to: &replay)
    }
    return replay
  }

  /// The last number of an epoch.
  private func last(of index: Int, _ spans: [EpochSpan]) -> UInt64 {
    spans[index].start + (end(of: index, spans) - spans[index].place)
  }

  /// The place behind an epoch's last event.
  private func end(of index: Int, _ spans: [EpochSpan]) -> UInt64 {
    index + 1 < spans.count ? spans[index + 1].place : history.nextPlace
  }

  private func add(
    numbersAbove sequence: UInt64, of index: Int, _ spans: [EpochSpan], _ filter: inout RememberingFilter,
    to replay: inout EventReplay
  ) {
    let span = spans[index]
    let end = end(of: index, spans)
    var place = span.place + (sequence - span.start)
    guard place < end else { return }
    let kept = min(max(place, history.oldestPlace), end)
    if place < kept {
      replay.expire(
        number(place, span)...number(kept - 1, span), count: history.expired.count(place..<kept, matching: &filter),
        epoch: span.epoch)
      place = kept
    }
    while place < end, let content = history.content(at: place) {
      if filter.passes(content, at: place) { replay.append(number(place, span), content, epoch: span.epoch) }
      place += 1
    }
  }

  private func number(_ place: UInt64, _ span: EpochSpan) -> UInt64 { span.start + (place - span.place) + 1 }

  /// The newest that match, over epochs, with a gap wherever one of these ends. Fewer are complete only if the oldest
  /// epoch has had no others.
  private func replay(last count: Int, _ filter: inout RememberingFilter) -> EventReplay {
    var found: [UInt64] = []
    var place = history.nextPlace
    while found.count < count, place > 0, let content = history.content(at: place - 1) {
      place -= 1
      if filter.passes(content, at: place) { found.append(place) }
    }
    let spans = history.spans
    let gone = spans[0].place..<max(spans[0].place, history.oldestPlace)
    let missed = found.count < count ? history.expired.count(gone, matching: &filter) : 0
    let holder = found.last.map { first in spans.lastIndex { $0.place <= first } ?? 0 }
    let index = missed > 0 ? 0 : holder ?? spans.count - 1
    var replay = EventReplay(epoch: spans[index].epoch)
    if missed > 0 {
      let range = number(gone.lowerBound, spans[0])...number(gone.upperBound - 1, spans[0])
      replay.expire(range, count: missed, epoch: spans[0].epoch)
    }
    return add(found.reversed(), from: index, spans, to: replay)
  }

  private func add(
    _ places: [UInt64], from first: Int, _ spans: [EpochSpan], to start: EventReplay
  ) -> EventReplay {
    var replay = start
    var index = first
    for place in places {
      while index + 1 < spans.count, spans[index + 1].place <= place {
        index += 1
        replay.turn(to: spans[index].epoch, after: spans[index].start)
      }
      if let content = history.content(at: place) {
        replay.append(number(place, spans[index]), content, epoch: spans[index].epoch)
      }
    }
    for later in spans[(index + 1)...] { replay.turn(to: later.epoch, after: later.start) }
    return replay
  }
}
