/// Which entries of the outbox a call is about; nil does not narrow them.
struct OutboxSelection: Equatable, Sendable {
  var target: CallTarget?
  var ids: [String]?
  var states: Set<OutboxState>?
}

extension OutboxSelection {
  static let parameters = parameters(ids: "Only the sends of these ids.")

  /// Where the call has to say which sends are meant.
  static let neededParameters = parameters(
    ids: "Only the sends of these ids; these, `upstream` or `url` are needed.")

  private static func parameters(ids: String) -> [LocalParameter] {
    [
      .optional(.ids, .strings(count: 1...1_000, each: 1...ParameterKind.identifierLimit), ids),
      .optional(
        .states, .strings(count: 1...OutboxState.allCases.count, each: 1...ParameterKind.identifierLimit),
        "Only sends in these states: " + OutboxState.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ") + "."),
    ]
  }

  /// `isNeeded`: the call has to say which sends are meant.
  init(
    _ params: borrowing ParameterValues, _ line: RawSpan, isNeeded: Bool = false
  ) throws(LocalError) {
    target = try params.optionalTarget(line)
    ids = try params.strings(.ids, line)
    for word in try params.strings(.states, line) ?? [] {
      guard let state = OutboxState(rawValue: word) else {
        let known = OutboxState.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        throw .invalid("states", "The param \"states\" holds a word that is no state of a send; there are \(known).")
      }
      states = (states ?? []).union([state])
    }
    if isNeeded, target == nil, ids == nil {
      throw .invalid("ids", "\"\(params.method.name)\" needs \"ids\", or an upstream whose sends are meant.")
    }
  }

  // MARK: - Which entries

  /// The entries that a call is about.
  struct Choice {
    let search: OutboxSearch
    /// Whether the caller may do it to an entry now: the rights may have changed since it was looked at.
    let isAllowed: (OutboxRecord) -> Bool
  }

  /// Looks for the entries that are meant, as far as the caller may see them. Those that are named have to be of
  /// upstreams on which the caller has the right; where none are named the others are left out.
  ///
  /// - Parameters:
  ///   - eligible: what concerns the call at all, besides what its params say.
  ///   - isEligible: the same of each entry.
  func choice(
    for session: LocalSession, need verb: AccessVerb, limit: Int = .max, in eligible: Set<OutboxState>? = nil,
    where isEligible: @escaping (OutboxRecord) -> Bool = { _ in true }
  ) throws(LocalError) -> Choice {
    let relay = session.gateway.relay
    let filter = try EntryFilter(target, for: session, need: verb)
    let states = eligible.map { $0.intersection(self.states ?? $0) } ?? self.states
    func choice(_ search: OutboxSearch) -> Choice { Choice(search: search, isAllowed: filter.allows) }
    guard let ids else {
      return choice(
        OutboxSearch(
          relay.outbox, before: relay.nextNumber, limit: limit,
          .init(
            states: states, concerns: filter.concerns,
            isWanted: { filter.isMeant($0, of: $1) && filter.hasRight(on: $0) },
            isMeant: { filter.allows($0) && isEligible($0) })))
    }
    let named = Set(ids).compactMap { relay.outbox.record($0) }.filter {
      self.states?.contains($0.entry.state) ?? true && filter.isMeant($0)
    }
    // The right comes first, also where the call has nothing to do with an entry any more.
    if let first = named.first(where: { !filter.hasRight(on: $0) }) {
      let name = session.gateway.upstreams.resolver.place(of: first.entry.target).name
      throw session.caller.denied(verb, on: name.flatMap { session.caller.mayKnow($0) ? $0 : nil })
    }
    let found = named.filter { states?.contains($0.entry.state) ?? true && isEligible($0) }
    return choice(OutboxSearch(relay.outbox, found: found, limit: limit))
  }

  // MARK: - Results

  private static let countMember = JSONSchema.Member.always("count", .count, "How many sends that concerned.")
  static let count = JSONSchema.object([countMember])
  /// Of what happens even where the disk does not take it.
  static let changed = JSONSchema.object([
    countMember,
    .sometimes("saved", .boolean, "False: the disk does not know it yet, and a crash before it does would undo it."),
    .sometimes("reason", .text, "Why not, in a word."), .sometimes("detail", .text, "The same in a sentence."),
  ])
}

/// Which entries of the outbox a program means, and what it may do with them: asked once for each target, and again once
/// the rights are others. Most have that of the one before them.
private final class EntryFilter {
  private struct Verdict {
    var isMeant: Bool
    /// For which events there is the right. One's own sends are listed whatever their event is.
    var right: EventPermit
    /// For which events it may be done to other users' sends.
    var admin: EventPermit
  }

  /// An upstream that may have left the configuration, or claimed the URL by which a send was made.
  /// Options narrow it, where there are any.
  private typealias Meant = (names: Set<OutboxTarget.Name>, namespace: String?, options: TargetOptions?)

  private let session: LocalSession
  private let verb: AccessVerb
  private var isAdministrator: Bool
  private var administersSome: Bool
  /// Nil for all.
  private let meant: Meant?
  private var last: (target: OutboxTarget, verdict: Verdict)?
  private var known: [OutboxTarget: Verdict] = [:]
  /// Of which rights that is true.
  private var generation: UInt64 = 0

  /// - Parameter target: the upstream that is meant; nil for all.
  init(_ target: CallTarget?, for session: LocalSession, need verb: AccessVerb) throws(LocalError) {
    self.session = session
    self.verb = verb
    isAdministrator = session.caller.isAdministrator
    administersSome = session.gateway.upstreams.access.administersSome(session.caller.identity)
    meant = try target.map { (target) throws(LocalError) in try Self.meant(by: target, for: session, need: verb) }
  }

  private static func meant(
    by target: CallTarget, for session: LocalSession, need verb: AccessVerb
  ) throws(LocalError) -> Meant {
    guard case .upstream(let name) = target.name else {
      let specification = try session.caller.specification(target, need: verb)
      return (OutboxTarget.names(of: specification), specification.namespace, specification.options)
    }
    if session.gateway.configuration.upstreams[name] == nil, try !holdsSends(to: .upstream(name), for: session) {
      throw session.caller.unknownUpstream(name)
    }
    let place =
      target.namespace.map {
        session.gateway.upstreams.resolver.rules(of: OutboxTarget(name: .upstream(name), namespace: $0))
      } ?? AccessPlace(.upstream(name), namespace: nil)
    guard session.caller.may(verb, place) else { throw session.caller.denied(verb, on: name) }
    return ([.upstream(name)], target.namespace, nil)
  }

  /// Whether there is anything in the outbox for that upstream, as far as the caller may see it.
  private static func holdsSends(to name: OutboxTarget.Name, for session: LocalSession) throws(LocalError) -> Bool {
    let filter = try EntryFilter(nil, for: session, need: .status)
    return session.gateway.relay.outbox.holdsAny(concerning: filter.concerns) {
      $0.name == name && filter.isMeant($0, of: $1)
    }
  }

  /// Whether it can mean a user's entries: the caller's own, or any where the caller administers something.
  func concerns(_ owner: UInt32) -> Bool { isOwn(owner) || administersSome }

  /// Of what is meant: one's own, and what is of upstreams that one administers; whatever the event is.
  func isMeant(_ target: OutboxTarget, of owner: UInt32) -> Bool {
    let verdict = verdict(on: target)
    return verdict.isMeant && (isOwn(owner) || !verdict.admin.passesNone)
  }

  /// The same with the event.
  func isMeant(_ record: OutboxRecord) -> Bool {
    let verdict = verdict(on: record.entry.target)
    return verdict.isMeant && (isOwn(record.entry.owner) || verdict.admin.passes(record.entry.message.event))
  }

  /// Whether it may be done to an entry.
  func allows(_ record: OutboxRecord) -> Bool { isMeant(record) && hasRight(on: record) }

  private func isOwn(_ owner: UInt32) -> Bool { owner == session.caller.identity.uid || isAdministrator }

  func hasRight(on target: OutboxTarget) -> Bool { !verdict(on: target).right.passesNone }

  func hasRight(on record: OutboxRecord) -> Bool {
    let right = verdict(on: record.entry.target).right
    return verb == .status ? !right.passesNone : right.passes(record.entry.message.event)
  }

  private func verdict(on target: OutboxTarget) -> Verdict {
    if generation != session.gateway.upstreams.generation {
      (known, last, generation) = ([:], nil, session.gateway.upstreams.generation)
      isAdministrator = session.caller.isAdministrator
      administersSome = session.gateway.upstreams.access.administersSome(session.caller.identity)
    }
    if let last, last.target == target { return last.verdict }
    let verdict = known[target] ?? judge(target)
    known[target] = verdict
    last = (target, verdict)
    return verdict
  }

  private func judge(_ target: OutboxTarget) -> Verdict {
    let upstreams = session.gateway.upstreams
    let place = upstreams.resolver.rules(of: target)
    return Verdict(
      isMeant: covers(target), right: session.caller.permit(verb, place), admin: session.caller.permit(.admin, place))
  }

  private func covers(_ target: OutboxTarget) -> Bool {
    guard let meant else { return true }
    guard meant.namespace?.isExactly(target.namespace) ?? true else { return false }
    guard meant.options == nil || meant.options == target.options else { return false }
    if meant.names.contains(target.name) { return true }
    guard case .url = target.name else { return false }
    let claimant = session.gateway.upstreams.resolver.place(of: target).name
    return claimant.map { meant.names.contains(.upstream($0)) } ?? false
  }
}
