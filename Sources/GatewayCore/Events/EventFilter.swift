/// Which events a subscription wants: all of them, or those with one of its names, or whose name fits one of its globs;
/// and which of them its client may have. Names are compared byte by byte, as the upstream sends them.
struct EventFilter: Equatable, Sendable {
  /// Most globs of one filter, and the longest one in bytes: what matching one event may cost.
  static let globLimit = 256
  static let globLengthLimit = 256
  /// Longest list of names and globs, in bytes as a call writes it.
  static let textLimit = 128 << 10

  /// Nil: every event.
  private let exact: Set<ExactText>?
  /// The globs, in the order of the call.
  @ByBytes private(set) var globs: [String]
  /// What the rights of the client let pass of what it wants.
  var permit = EventPermit.all

  /// Every event.
  static let all = EventFilter()

  private init() {
    exact = nil
    globs = []
  }

  /// From `events` of a call: names and globs mixed; nil means every event, an empty list none.
  init(_ events: [String]?) throws(LocalError) {
    guard let events else {
      self = .all
      return
    }
    var names: Set<ExactText> = []
    var patterns: [String] = []
    for event in events {
      if Glob.isPattern(event) { patterns.append(event) } else { names.insert(ExactText(Glob.unescape(event))) }
    }
    guard patterns.count <= Self.globLimit else {
      throw .invalid("events", "'events' has more than \(Self.globLimit) globs.")
    }
    guard patterns.allSatisfy({ $0.utf8.count <= Self.globLengthLimit }) else {
      throw .invalid("events", "a glob in 'events' is longer than \(Self.globLengthLimit) bytes.")
    }
    exact = names
    globs = patterns
  }

  /// From names and globs that were checked before.
  init(names events: [String]) {
    exact = Set(events.lazy.filter { !Glob.isPattern($0) }.map { ExactText(Glob.unescape($0)) })
    globs = events.filter { Glob.isPattern($0) }
  }

  /// Whether every event is wanted.
  var wantsAll: Bool { exact == nil }

  /// Whether every event passes, so that names need not be looked at.
  var passesAll: Bool { exact == nil && permit.passesAll }

  /// The names without wildcards, in no order; none when every event passes.
  var exactNames: Set<ExactText> { exact ?? [] }

  /// As a call writes it; nil: every event.
  var events: [String]? { exact.map { $0.map { Glob.escape($0.text) } + globs } }

  /// What a server is to be asked for: it is told of no name that no rule lets the client read.
  func interests(answers: Bool) -> Set<Interest> {
    guard let exact else { return [Interest(.all, answers: answers)] }
    let names = exact.filter { permit.passesAll || permit.passes($0.text) }
    let patterns = names.map { Interest.Pattern.name($0) } + globs.map { .glob(ExactText($0)) }
    return Set(patterns.map { Interest($0, answers: answers) })
  }

  /// How many names and globs it has.
  var size: Int { (exact?.count ?? 0) + globs.count }

  /// How many globs a name is compared with, those of access rules among them.
  var comparedGlobs: Int { globs.count + permit.globCount }

  /// Whether an event of this name passes.
  func matches(_ name: String) -> Bool { wants(name) && (permit.passesAll || permit.passes(name)) }

  private func wants(_ name: String) -> Bool {
    guard let exact else { return true }
    return exact.contains(ExactText(name)) || globs.contains { Glob.matches($0, name) }
  }
}
