/// The events that access rules let a user send or read at some place. Worked out once, and again when the rules
/// change.
struct EventPermit: Equatable, Sendable {
  /// Each of them has to have a rule that names the event: one where one upstream's rules decide, more where several
  /// do. Empty: every event.
  private let parts: [[RuledEvents]]

  static let all = EventPermit(parts: [])
  static let none = EventPermit(parts: [[]])

  private init(parts: [[RuledEvents]]) { self.parts = parts }

  /// The events that one of these rules names.
  init(_ rules: [RuledEvents]) { parts = [rules] }

  /// What both let pass.
  func and(_ other: EventPermit) -> EventPermit { EventPermit(parts: parts + other.parts) }

  /// Every event passes: names need not be looked at.
  var passesAll: Bool { parts.isEmpty }
  /// No event passes.
  var passesNone: Bool { parts.contains(where: \.isEmpty) }

  /// How many globs a name is compared with.
  var globCount: Int { parts.reduce(0) { $0 + $1.reduce(0) { $0 + $1.filter.globs.count } } }

  /// Whether each part has a rule that names this glob as it stands: all that it may mean passes.
  func covers(glob: String) -> Bool {
    parts.allSatisfy { part in part.contains { $0.filter.wantsAll || $0.filter.globs.contains(where: glob.isExactly) } }
  }

  /// Whether an event of this name passes.
  func passes(_ name: String) -> Bool { parts.allSatisfy { $0.contains { $0.filter.matches(name) } } }

  /// The same; nil: whether any event passes.
  func allows(_ name: String?) -> Bool { name.map(passes) ?? !passesNone }

  /// The same for many permits and one name, each rule asked once.
  func passes(_ name: String, _ asked: inout AskedRules) -> Bool {
    parts.allSatisfy { part in part.contains { asked.names($0, name) } }
  }
}

/// What rules say about one name, each asked once, and what it took.
struct AskedRules {
  private var answers: [ObjectIdentifier: Bool] = [:]
  /// How many globs and names it was compared with.
  private(set) var compared = 0

  mutating func names(_ rule: RuledEvents, _ name: String) -> Bool {
    let key = ObjectIdentifier(rule)
    if let known = answers[key] { return known }
    let answer = rule.filter.matches(name)
    answers[key] = answer
    compared += 1 + rule.filter.globs.count
    return answer
  }
}

/// The `events` of one access rule. An object, so that what it says about a name can be remembered.
final class RuledEvents: Equatable, Sendable {
  let filter: EventFilter

  init(_ events: [String]) { filter = EventFilter(names: events) }

  static func == (a: RuledEvents, b: RuledEvents) -> Bool { a === b || a.filter == b.filter }
}

/// A permit that is asked about many events, of which most have one of a few names.
struct RememberingPermit {
  private let permit: EventPermit
  private var known: [ExactText: Bool] = [:]

  init(_ permit: EventPermit) { self.permit = permit }

  mutating func passes(_ name: String) -> Bool {
    if permit.passesAll || permit.passesNone { return permit.passesAll }
    return passes(ExactText(name))
  }

  /// The same of a name that is hashed already.
  mutating func passes(_ name: ExactText) -> Bool {
    if permit.passesAll || permit.passesNone { return permit.passesAll }
    if let answer = known[name] { return answer }
    let answer = permit.passes(name.text)
    known[name] = answer
    return answer
  }
}
