/// `outbox.retry`: what failed begins anew, and what waits is tried now.
struct OutboxRetryCall: LocalCall {
  var selection: OutboxSelection

  static let method = LocalMethod(
    "outbox.retry", "Sends again what failed, and connects at once for what waits.", right: .send,
    parameters: LocalParameter.optionalTarget + OutboxSelection.neededParameters, result: OutboxSelection.count)

  static let startsWork = true

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.caller.demandSending()
    let gateway = session.gateway
    let caller = session.caller
    let superseded = SupersededSends(gateway.relay)
    let choice = try selection.choice(for: session, need: .send) { record in
      guard !record.entry.state.isFinal || record.entry.isRepeatable else { return false }
      superseded.note(record)
      return true
    }
    let search = choice.search
    func checkRoom(_ portion: inout Int) throws(LocalError) -> Bool {
      guard superseded.look(&portion) else { return false }
      while let first = search.firstFinished, superseded.contains(first) {
        guard portion > 0 else { return false }
        portion -= 1
        search.skipFirstFinished()
      }
      guard let first = search.firstFinished else { return true }
      try caller.checkOutboxQuota()
      do throws(SubmissionProblem) {
        try gateway.relay.outbox.checkRoom(again: first)
      } catch {
        throw LocalError(error)
      }
      return true
    }
    var hurried: Set<ObjectIdentifier> = []
    let identity = caller.identity
    OutboxWork.answer(id, of: session, onceDone: choice, .asTheDiskSays, isReady: checkRoom) { gateway, record, work in
      guard !superseded.contains(record) else { return }
      if record.entry.state.isFinal {
        // Those for which there is no room stay as they are, and are not counted.
        guard (try? gateway.relay.outbox.checkRoom(again: record)) != nil, (try? caller.checkOutboxQuota()) != nil
        else { return }
        work.count += 1
        return gateway.relay.sendAgain(record.entry.id, for: identity, work.awaited())
      }
      work.count += 1
      guard let carrier = record.connection else { return gateway.relay.place(record, for: identity) }
      guard hurried.insert(ObjectIdentifier(carrier)).inserted else { return }
      // Only an administrator's word comes before the server's `Retry-After` and other users' turns.
      let rules = gateway.upstreams.resolver.rules(of: record.entry.target)
      carrier.hurry(gateway.upstreams.access.allows(.admin, at: rules, for: identity) ? .order : .request)
    }
  }
}

extension OutboxRetryCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    selection = try OutboxSelection(params, line, isNeeded: true)
  }
}

/// Finished sends with `coalesce` whose place a newer one has, which are not sent again: one of those that are to be, one
/// that waits, or one that has arrived.
private final class SupersededSends {
  /// What a `coalesce` stands for: one send of a user to a target.
  private struct Place: Hashable {
    let line: Line
    let value: ExactText

    init?(_ entry: OutboxEntry) {
      guard let value = entry.coalesce else { return nil }
      (line, self.value) = (Line(owner: entry.owner, target: entry.target), ExactText(value))
    }
  }

  private struct Line: Hashable {
    let owner: UInt32
    let target: OutboxTarget
  }

  private let relay: OutboxRelay
  private var newest = IncrementalTable<Place, UInt64>()
  /// Where newer ones may be.
  private var lines: Set<Line> = []
  private var search: OutboxSearch?

  init(_ relay: OutboxRelay) { self.relay = relay }

  /// One that may have to be sent again.
  func note(_ record: OutboxRecord) {
    guard let place = Place(record.entry) else { return }
    count(record, at: place)
    if record.line == nil { lines.insert(place.line) }
  }

  private func count(_ record: OutboxRecord, at place: Place) {
    if newest[place] ?? 0 < record.entry.number { newest[place] = record.entry.number }
  }

  /// Looks for newer ones, when all are noted. Returns whether all have been looked at.
  func look(_ portion: inout Int) -> Bool {
    guard !lines.isEmpty else { return true }
    let search = search ?? makeSearch()
    self.search = search
    guard search.look(&portion) else { return false }
    while portion > 0 {
      portion -= 1
      guard let record = search.next() else { return true }
      if let place = Place(record.entry) { count(record, at: place) }
    }
    return false
  }

  private func makeSearch() -> OutboxSearch {
    let lines = lines
    let owners = Set(lines.map(\.owner))
    return OutboxSearch(
      relay.outbox, before: relay.nextNumber,
      .init(
        states: [.queued, .sent, .acked], concerns: owners.contains,
        isWanted: { lines.contains(Line(owner: $1, target: $0)) }, isMeant: { $0.entry.coalesce != nil }))
  }

  func contains(_ record: OutboxRecord) -> Bool {
    guard record.line == nil, !lines.isEmpty, let place = Place(record.entry) else { return false }
    return newest[place] != record.entry.number
  }
}
