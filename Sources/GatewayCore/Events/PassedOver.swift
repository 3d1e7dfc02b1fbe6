/// What the link that gives the places has yet to tell, and the client of a subscription is not to hear: what it was told
/// elsewhere, up to a place that the stream has not reached; or, without a place, whatever came before the subscription. Such
/// numbers go on rising over epochs, so that lower ones of whichever epoch came before the place.
struct PassedOver: Equatable {
  /// The last event that it was told.
  struct Place: Equatable {
    var epoch: String
    var sequence: UInt64
  }

  /// What is told of something that has come, and whether it ends the passing over.
  struct Verdict: Equatable {
    /// Told before the event, or in place of the gap.
    var gaps: [Backlog.Gap] = []
    var isOver = false
  }

  let place: Place?
  /// Without a place: the epoch that its client knows. It is told of no gap where that goes on.
  let epoch: String?
  let past: PastMark
  /// What the client is told where it has to learn another epoch.
  let detail: String?

  init(_ place: Place, until past: PastMark) {
    self.place = place
    self.past = past
    epoch = nil
    detail = nil
  }

  /// Without a place.
  init(in epoch: String?, until past: PastMark, because detail: String? = nil) {
    place = nil
    (self.epoch, self.past, self.detail) = (epoch, past, detail)
  }

  /// For an event; it is told where the passing over has ended.
  func verdict(on number: UInt64, of epoch: String) -> Verdict {
    guard let end = end(at: number...number, of: epoch) else { return Verdict() }
    return Verdict(gaps: end.turn.map { [$0] } ?? [], isOver: true)
  }

  func verdict(on gap: Backlog.Gap) -> Verdict {
    if let range = gap.range {
      guard let end = end(at: range, of: gap.epoch) else { return Verdict() }
      var rest = gap
      rest.range = (end.behind + 1)...range.upperBound
      rest.count = gap.count.map { min($0, range.upperBound - end.behind) }
      return Verdict(gaps: [end.turn, rest].compactMap { $0 }, isOver: true)
    }
    guard let start = gap.start else {
      // Its client must not be led away from the place that it has.
      var gap = gap
      if let place { gap.epoch = place.epoch }
      return Verdict(gaps: [gap])
    }
    guard let place else { return past.isTold ? Verdict(gaps: [gap], isOver: true) : Verdict() }
    // An epoch that begins below the place is the place's own or an earlier one, for as long as the place may come.
    let isBefore = gap.epoch == place.epoch ? start <= place.sequence : start < place.sequence && !past.isTold
    return isBefore ? Verdict() : Verdict(gaps: [gap], isOver: true)
  }

  /// Behind which number of these everything is told, and the loss of continuity before it; nil where nothing is.
  private func end(at numbers: ClosedRange<UInt64>, of epoch: String) -> (behind: UInt64, turn: Backlog.Gap?)? {
    guard let place else {
      guard past.isTold else { return nil }
      let behind = numbers.lowerBound - 1
      guard epoch != self.epoch else { return (behind, nil) }
      return turn(to: epoch, behind: behind, because: detail)
    }
    if past.isTold, numbers.lowerBound <= place.sequence {
      return turn(
        to: epoch, behind: numbers.lowerBound - 1,
        because:
          "the epoch '\(place.epoch.shortened(to: 64))' has no event \(place.sequence) yet, so what was seen was another history"
      )
    }
    guard numbers.upperBound > place.sequence else { return nil }
    let behind = max(place.sequence, numbers.lowerBound - 1)
    guard epoch != place.epoch else { return (behind, nil) }
    return turn(
      to: epoch, behind: behind,
      because:
        "the epoch '\(place.epoch.shortened(to: 64))' is not known: its history is not kept any more, or never was")
  }

  private func turn(to epoch: String, behind number: UInt64, because detail: String?) -> (UInt64, Backlog.Gap?) {
    var gap = Backlog.Gap.lostContinuity(epoch: epoch, after: number)
    gap.detail = detail
    return (number, gap)
  }
}

extension EventStream {
  /// Whether that place was not reached here: the present epoch has not come so far, or it is of one that is not known.
  func isBehind(_ sequence: UInt64, of epoch: String) -> Bool {
    if epoch == self.epoch { return sequence > self.sequence }
    return !history.past.contains { $0.epoch == epoch }
  }

  /// Whether a place may come that a client was told elsewhere, and nothing behind it is known here: its number was not
  /// reached, in an epoch that has not ended.
  func expects(_ sequence: UInt64, of epoch: String) -> Bool {
    isBehind(sequence, of: epoch) && (sequence > self.sequence || !hasGivenPlaces)
  }
}

extension Subscription {
  /// That is not told; nil: everything is from now on.
  func passOver(_ past: PassedOver?) {
    passedOver = past
    letFlow()
  }

  /// Whether an event was told to its client elsewhere. Otherwise the gap before it is told.
  func isPassedOver(_ sequence: UInt64, _ epoch: String) -> Bool {
    guard let passedOver else { return false }
    let verdict = passedOver.verdict(on: sequence, of: epoch)
    follow(verdict)
    return !verdict.isOver
  }

  func follow(_ verdict: PassedOver.Verdict) {
    if verdict.isOver {
      passedOver = nil
      letFlow()
    }
    for gap in verdict.gaps { put(gap) }
  }
}

/// A moment of the past of a link: all that there was by then is told, or will be.
struct PastMark: Equatable {
  private let number: UInt64
  private let tellings: PastTellings

  init(_ number: UInt64, of tellings: PastTellings) { (self.number, self.tellings) = (number, tellings) }

  var isTold: Bool { tellings.last >= number }

  static func == (a: PastMark, b: PastMark) -> Bool { a.number == b.number && a.tellings === b.tellings }
}

/// Up to which question a link has answered what there is of the past.
final class PastTellings {
  var last: UInt64 = 0
}
