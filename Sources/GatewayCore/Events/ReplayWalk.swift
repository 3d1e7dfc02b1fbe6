/// A walk through what a history keeps, from where a client was to its end, in portions between which events may come
/// and go. Its last portion is to be done together with whatever takes the events that come afterwards. Decision 0108.
struct ReplayWalk {
  /// Where the walk stands.
  private struct Position {
    var span: EpochSpan
    var place: UInt64

    func number(_ place: UInt64) -> UInt64 { span.start + (place - span.place) + 1 }
  }

  /// Backwards, for the newest so many.
  private struct Backwards {
    /// What is before it was not looked at.
    var place: UInt64
    var found = 0
    var bytes = 0
    /// The oldest one that was found.
    var first: UInt64?
  }

  private let resume: ResumePoint
  private let page: Int
  private var filter: RememberingFilter
  private var portion: Int
  private var position: Position?
  private var backwards: Backwards?
  /// The end when it was looked at last.
  private var knownEnd: UInt64?
  private(set) var replay: EventReplay

  /// `page`: bytes of events that are enough; `portion`: what one portion may cost (`RememberingFilter`).
  init(
    _ resume: ResumePoint, _ filter: EventFilter, page: Int = .max, portion: Int = RememberingFilter.portion
  ) {
    self.resume = resume
    self.filter = RememberingFilter(filter)
    self.page = page
    replay = EventReplay(epoch: "")
    self.portion = portion
  }

  /// Bytes that it remembers: what it found, and the names that it has compared.
  var heldBytes: Int { replay.byteCount + filter.heldBytes }

  /// Hands out the items of the replay, which nothing else refers to then.
  mutating func takeItems() -> Ring<Backlog.Item> { replay.takeItems() }

  /// Looks at the next portion. Returns whether that was all. `room`: bytes that the replay may have.
  mutating func advance(in stream: EventStream, room: Int = .max) -> Bool {
    // What is too old is not shown, however long it takes to go.
    guard stream.history.trim(stream.time.now) else { return false }
    let history = stream.history
    replay.room = room
    filter.begin(portion)
    let isDone = advance(history, in: stream)
    if !isDone { hurry(history) }
    return isDone
  }

  private mutating func advance(_ history: EventHistory, in stream: EventStream) -> Bool {
    if position == nil {
      switch resume {
      case .since(let epoch, let sequence): begin(since: sequence, of: epoch, history, in: stream)
      case .last(let count): guard begin(last: count, history) else { return false }
      }
    }
    guard walk(history) else { return false }
    if case .last(let count) = resume { replay.keep(last: count) }
    return true
  }

  /// Where more comes in than a portion has, the next ones are larger, so that the walk ends.
  private mutating func hurry(_ history: EventHistory) {
    guard let knownEnd else { return self.knownEnd = history.nextPlace }
    guard let position, position.place >= knownEnd else { return }
    self.knownEnd = history.nextPlace
    portion *= 2
  }

  // MARK: - Where it begins

  private mutating func begin(
    since sequence: UInt64, of wanted: String, _ history: EventHistory, in stream: EventStream
  ) {
    let spans = history.spans
    guard let named = spans.lastIndex(where: { $0.epoch == wanted }) else {
      let known = min(sequence, stream.comparableEnd(for: sequence))
      // Backwards: an epoch that was given up may have had higher numbers than those that came after it.
      return begin(
        above: known, in: spans.lastIndex { $0.start <= known } ?? 0, history,
        because: "the epoch '\(wanted.shortened(to: 64))' is not known: its history is not kept any more, or never was")
    }
    let end = last(of: named, history)
    guard sequence <= end || named < spans.count - 1 else {
      // Numbers that a link gives are those of all hosts: the client has heard them up to there.
      if stream.hasGivenPlaces {
        return begin(
          above: end, in: named, history,
          because:
            "the epoch '\(wanted.shortened(to: 64))' has no event \(sequence) any more: what was seen behind \(end) was lost"
        )
      }
      return begin(
        above: min(sequence, stream.inherited), in: named, history,
        because:
          "the epoch '\(wanted.shortened(to: 64))' has no event \(sequence) yet, so what was seen was another history")
    }
    // Numbers below an epoch are those of a replay that was cut short: its reader knew the epoch from the answer.
    guard let first = spans[...named].lastIndex(where: { $0.start <= sequence }) else {
      // What was heard here first of the oldest epoch, or is kept, came later.
      begin(behind: spans[0].start, of: spans[0])
      return replay.expire(
        (sequence + 1)...spans[0].start, count: spans[0].start - sequence, epoch: spans[0].epoch)
    }
    begin(behind: min(sequence, last(of: first, history)), of: spans[first])
  }

  /// For a client that has seen another history: what an epoch has above a number, and all behind it. The first gap says
  /// why.
  private mutating func begin(
    above sequence: UInt64, in index: Int, _ history: EventHistory, because detail: String
  ) {
    let span = history.spans[index]
    let gone = span.start + (max(history.oldestPlace, span.place) - span.place)
    let start = max(min(sequence, last(of: index, history)), gone)
    begin(behind: start, of: span)
    replay.turn(to: span.epoch, after: start, detail: detail)
  }

  private mutating func begin(behind sequence: UInt64, of span: EpochSpan) {
    // The first events of a page need no gaps between them; among the newest ones they say what is before a cut.
    var holdsGaps = page == .max
    if case .last = resume { holdsGaps = true }
    let room = replay.room
    replay = EventReplay(epoch: span.epoch, page: page, holdsGaps: holdsGaps)
    replay.room = room
    position = Position(span: span, place: span.place + (sequence - span.start))
  }

  /// The newest that match, over epochs, with a gap wherever one of these ends. Fewer are complete only if there were
  /// no others, in these epochs or in earlier ones. Returns whether the first of them is known.
  private mutating func begin(last count: Int, _ history: EventHistory) -> Bool {
    var back = backwards ?? Backwards(place: history.nextPlace)
    while back.found < count, back.bytes <= page, let content = history.content(at: back.place &- 1) {
      guard filter.hasLeft else {
        backwards = back
        return false
      }
      back.place -= 1
      guard filter.passes(content) else { continue }
      back.found += 1
      if case .event(let tail) = content { back.bytes += tail.count } else { back.bytes += Backlog.Item.gapCost }
      back.first = back.place
    }
    backwards = back
    let spans = history.spans
    if back.found < count, back.bytes <= page {
      guard filter.look(at: history.expired) else { return false }
      if history.hasUnknownPast || history.expired.count(0..<spans[0].place, matching: &filter) > 0 {
        begin(behind: spans[0].start, of: spans[0])
        replay.turn(to: spans[0].epoch, after: spans[0].start, detail: "what came before is not kept any more")
        return true
      }
      let gone = spans[0].place..<max(spans[0].place, history.oldestPlace)
      if history.expired.count(gone, matching: &filter) > 0 {
        begin(behind: spans[0].start, of: spans[0])
        return true
      }
    }
    let place = back.first ?? history.nextPlace
    let span = back.first == nil ? history.current : spans.last { $0.place <= place } ?? spans[0]
    begin(behind: span.start + (max(place, span.place) - span.place), of: span)
    return true
  }

  /// The last number of an epoch.
  private func last(of index: Int, _ history: EventHistory) -> UInt64 {
    let spans = history.spans
    let end = index + 1 < spans.count ? spans[index + 1].place : history.nextPlace
    return spans[index].start + (end - spans[index].place)
  }

  // MARK: - The walk

  /// Over events and epochs. Returns whether it came to the end.
  private mutating func walk(_ history: EventHistory) -> Bool {
    guard var position else { return true }
    defer { self.position = position }
    let spans = history.spans
    // An epoch of which nothing is kept any more ended where the first that is known began.
    var index = spans.lastIndex { $0.epoch == position.span.epoch } ?? -1
    while index + 1 < spans.count {
      let later = spans[index + 1]
      guard walk(to: later.place, history, &position) else { return false }
      replay.turn(to: later.epoch, after: later.start)
      position = Position(span: later, place: max(position.place, later.place))
      index += 1
    }
    return walk(to: history.nextPlace, history, &position)
  }

  private mutating func walk(to end: UInt64, _ history: EventHistory, _ position: inout Position) -> Bool {
    let kept = min(history.oldestPlace, end)
    if position.place < kept {
      guard filter.look(at: history.expired) else { return false }
      replay.expire(
        position.number(position.place)...position.number(kept - 1),
        count: history.expired.count(position.place..<kept, matching: &filter), epoch: position.span.epoch)
      position.place = kept
    }
    while position.place < end, let content = history.content(at: position.place) {
      guard filter.hasLeft else { return false }
      if filter.passes(content) {
        replay.append(position.number(position.place), content, epoch: position.span.epoch)
      }
      position.place += 1
    }
    return true
  }
}

extension EventStream {
  /// Up to this number a client that was in an unknown epoch has seen those up to its own, or was told of a gap: what an
  /// earlier daemon numbered, and what a link numbers, which goes on rising over epochs. A number of the client beyond all
  /// of the link's is of another history.
  func comparableEnd(for sequence: UInt64) -> UInt64 {
    hasGivenPlaces && sequence <= self.sequence ? self.sequence : inherited
  }

  /// What is kept of the events that a client asks for, in one go.
  func replay(_ resume: ResumePoint, _ filter: EventFilter) -> EventReplay {
    var walk = ReplayWalk(resume, filter, portion: .max)
    while !walk.advance(in: self) {}
    return walk.replay
  }
}
