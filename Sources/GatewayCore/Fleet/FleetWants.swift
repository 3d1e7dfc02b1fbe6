/// What the hosts want of the server in one conversation: asked for once, answered for to each of them, and by which
/// hosts the server's questions are answered.
struct FleetWants {
  private struct Want {
    var hosts: Set<String> = []
    /// The server has agreed.
    var isAgreed = false
    /// By which `globs` has it, where it is one that answers.
    var serial: UInt64?
  }

  private var wants: [Interest: Want] = [:]
  /// What each host wants.
  private var interests: [String: Set<Interest>] = [:]
  /// Which patterns that hosts answer by fit a name, by serials of this table's own.
  private var globs = GlobIndex()
  private var answering: [UInt64: Interest] = [:]
  private var lastSerial: UInt64 = 0
  /// By how many patterns each host answers.
  private var patterns: [String: Int] = [:]

  /// What has to be done for a host.
  enum Step: Equatable {
    /// The server has to be asked.
    case ask
    /// The server has been asked, and will answer.
    case wait
    /// The server agreed before.
    case agreed
    /// The host answers by too many patterns.
    case tooMany
  }

  /// Most patterns by which one host answers: each question is compared with those of all hosts.
  static let patternLimit = 256

  /// A host wants it.
  mutating func want(_ interest: Interest, _ host: String) -> Step {
    let known = wants[interest]
    if known?.hosts.contains(host) != true, interest.answeringGlob != nil {
      guard patterns[host, default: 0] < Self.patternLimit else { return .tooMany }
      patterns[host, default: 0] += 1
    }
    wants[interest, default: Want()].hosts.insert(host)
    interests[host, default: []].insert(interest)
    guard let known else {
      enlist(interest)
      return .ask
    }
    return known.isAgreed ? .agreed : .wait
  }

  /// A host does not want it any more. True: nor does any other.
  mutating func drop(_ interest: Interest, _ host: String) -> Bool {
    guard wants[interest]?.hosts.remove(host) != nil else { return false }
    release(interest, host)
    guard wants[interest]?.hosts.isEmpty == true else { return false }
    forget(interest)
    return true
  }

  /// A host answers no more. Returns what no other one answers.
  mutating func dropAnswers(of host: String) -> Set<Interest> {
    (interests[host] ?? []).filter { $0.answers && drop($0, host) }
  }

  /// All that a host wants.
  func interests(of host: String) -> Set<Interest> { interests[host] ?? [] }

  /// The server has answered. Returns the hosts that are to hear it; one that was refused may ask again.
  mutating func answered(_ interest: Interest, isAgreed: Bool) -> [String] {
    guard let want = wants[interest] else { return [] }
    if isAgreed {
      wants[interest]?.isAgreed = true
    } else {
      for host in want.hosts { release(interest, host) }
      forget(interest)
    }
    return want.hosts.sorted()
  }

  /// The hosts that answer what the server asks by an event of that name.
  func answerers(of name: String) -> Set<String> {
    var found = globs.matches(name).serials.reduce(into: Set<String>()) { $0.formUnion(hosts(of: $1)) }
    found.formUnion(wants[Interest(.name(ExactText(name)), answers: true)]?.hosts ?? [])
    return found
  }

  private func hosts(of serial: UInt64) -> Set<String> { answering[serial].flatMap { wants[$0]?.hosts } ?? [] }

  private mutating func enlist(_ interest: Interest) {
    guard let glob = interest.answeringGlob else { return }
    lastSerial += 1
    wants[interest]?.serial = lastSerial
    answering[lastSerial] = interest
    globs.insert(glob, for: lastSerial)
  }

  private mutating func release(_ interest: Interest, _ host: String) {
    interests[host]?.remove(interest)
    if interests[host]?.isEmpty == true { interests[host] = nil }
    guard interest.answeringGlob != nil, let count = patterns[host] else { return }
    patterns[host] = count > 1 ? count - 1 : nil
  }

  private mutating func forget(_ interest: Interest) {
    guard let serial = wants.removeValue(forKey: interest)?.serial, let glob = interest.answeringGlob else { return }
    answering[serial] = nil
    globs.remove(glob, for: serial)
  }
}

extension Interest {
  /// The pattern by which a host answers; nil for a name, and for what only hears.
  fileprivate var answeringGlob: String? {
    guard answers else { return nil }
    return switch pattern {
    case .all: "*"
    case .name: nil
    case .glob(let glob): glob.text
    }
  }
}
