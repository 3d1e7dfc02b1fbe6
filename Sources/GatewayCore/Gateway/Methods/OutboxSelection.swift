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

  /// The entries that are meant, as far as the caller may see them, the oldest first. Those that are named have to be
  /// of upstreams on which the caller has the right; where none are named the others are left out.
  func records(
    for session: LocalSession, need verb: AccessVerb, limit: Int = .max
  ) throws(LocalError) -> [OutboxRecord] {
    let gateway = session.gateway
    let wanted = try target.map { target throws(LocalError) in try Wanted(target, for: session, need: verb) }
    let rights = EntryRights(session, verb)
    let isWanted: (OutboxTarget, UInt32) -> Bool = { other, owner in
      rights.maySee(other, of: owner) && wanted?.covers(other) ?? true
    }
    guard let ids else {
      return gateway.relay.outbox.records(limit: limit, states: states) {
        isWanted($0, $1) && rights.hasRight(on: $0)
      }
    }
    let found = Set(ids).compactMap { gateway.relay.outbox.record($0) }.filter {
      states?.contains($0.entry.state) ?? true && isWanted($0.entry.target, $0.entry.owner)
    }
    if let first = found.first(where: { !rights.hasRight(on: $0.entry.target) }) {
      throw .denied(verb, on: gateway.upstreams.resolver.scope(of: first.entry.target).name)
    }
    return found.sorted { $0.entry.number < $1.entry.number }
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

/// A target whose upstream may have left the configuration, or claimed the URL by which a send was made.
private final class Wanted {
  private let names: Set<OutboxTarget.Name>
  private let namespace: String?
  private let resolver: TargetResolver
  /// Whether a URL means one of the names by now.
  private var claimed: [OutboxTarget.Name: Bool] = [:]

  init(_ target: CallTarget, for session: LocalSession, need verb: AccessVerb) throws(LocalError) {
    resolver = session.gateway.upstreams.resolver
    guard case .upstream(let name) = target.name else {
      let specification = try session.caller.specification(target, need: verb)
      names = OutboxTarget.names(of: specification)
      namespace = specification.namespace
      return
    }
    guard session.gateway.configuration.upstreams[name] != nil || Self.holdsSends(to: .upstream(name), for: session)
    else {
      throw session.caller.unknownUpstream(name)
    }
    guard session.caller.may(verb, .upstream(name)) else { throw .denied(verb, on: name) }
    names = [.upstream(name)]
    namespace = target.namespace
  }

  /// Whether there is anything in the outbox for that upstream, as far as the caller may see it.
  private static func holdsSends(to name: OutboxTarget.Name, for session: LocalSession) -> Bool {
    let rights = EntryRights(session, .status)
    return !session.gateway.relay.outbox.records(limit: 1) { $0.name == name && rights.maySee($0, of: $1) }.isEmpty
  }

  func covers(_ target: OutboxTarget) -> Bool {
    (namespace == nil || namespace == target.namespace) && (names.contains(target.name) || isClaimed(target))
  }

  private func isClaimed(_ target: OutboxTarget) -> Bool {
    guard case .url = target.name else { return false }
    if let known = claimed[target.name] { return known }
    let isClaimed = resolver.scope(of: target).name.map { names.contains(.upstream($0)) } ?? false
    claimed[target.name] = isClaimed
    return isClaimed
  }
}

/// What a program may do with entries of the outbox: asked once for each target. Most have that of the one before them.
private final class EntryRights {
  private let session: LocalSession
  private let verb: AccessVerb
  private let isAdministrator: Bool
  private struct Rights {
    var hasRight: Bool
    var administers: Bool
  }
  private var last: (target: OutboxTarget, rights: Rights)?
  private var known: [OutboxTarget: Rights] = [:]

  init(_ session: LocalSession, _ verb: AccessVerb) {
    self.session = session
    self.verb = verb
    isAdministrator = session.caller.isAdministrator
  }

  /// One's own, and those of upstreams that one administers.
  func maySee(_ target: OutboxTarget, of owner: UInt32) -> Bool {
    owner == session.caller.identity.uid || isAdministrator || rights(on: target).administers
  }

  func hasRight(on target: OutboxTarget) -> Bool { rights(on: target).hasRight }

  private func rights(on target: OutboxTarget) -> Rights {
    if let last, last.target == target { return last.rights }
    let rights = known[target] ?? ask(target)
    known[target] = rights
    last = (target, rights)
    return rights
  }

  private func ask(_ target: OutboxTarget) -> Rights {
    let rules = session.gateway.upstreams.resolver.rules(of: target)
    let access = session.gateway.upstreams.access
    return Rights(
      hasRight: access.allows(verb, under: rules, for: session.caller.identity),
      administers: access.allows(.admin, under: rules, for: session.caller.identity))
  }
}
