/// What a subscription or a registration is for: a name or a pattern, and how it is meant. Decision 0056.
struct WAMPTopic: Hashable, Sendable {
  var uri: String
  var match: WAMPMatch

  init(uri: String, match: WAMPMatch) {
    self.uri = uri
    self.match = match
  }

  /// The bytes decide, as they do for a router: spellings that Unicode holds to be equivalent are different topics.
  static func == (a: Self, b: Self) -> Bool { a.match == b.match && a.uri.utf8.elementsEqual(b.uri.utf8) }

  func hash(into hasher: inout Hasher) {
    hasher.combine(ExactText(uri))
    hasher.combine(match)
  }

  /// Every topic.
  static let all = WAMPTopic(uri: "", match: .prefix)

  /// What the router is asked for on behalf of a glob. It may give more than the glob wants: the local filter passes
  /// only what fits.
  ///
  /// * no wildcards: the name itself
  /// * `a.b.*`: everything that begins with `a.b.`
  /// * `a.*.c`, each `*` a whole component: a wildcard pattern, in which it stands for exactly one component
  /// * anything else: everything that begins with what stands before the first wildcard
  init(glob: String) {
    guard Glob.isPattern(glob) else {
      self.init(uri: Glob.unescape(glob), match: .exact)
      return
    }
    let components = glob.split(separator: ".", omittingEmptySubsequences: false)
    let stars = components.count { $0 == "*" }
    let isPlain = components.allSatisfy { $0 == "*" || !$0.isEmpty && !Glob.isPattern(String($0)) }
    if isPlain, stars > 1 || components.last != "*" {
      let names = components.map { $0 == "*" ? "" : Glob.unescape(String($0)) }
      self.init(uri: names.joined(separator: "."), match: .wildcard)
    } else {
      self.init(uri: Glob.unescape(Self.literalBeginning(glob)), match: .prefix)
    }
  }

  /// What stands before the first wildcard, escapes included.
  private static func literalBeginning(_ glob: String) -> String {
    var beginning: [UInt8] = []
    var isEscaped = false
    for byte in glob.utf8 {
      if !isEscaped, byte == UInt8(ascii: "*") || byte == UInt8(ascii: "?") { break }
      isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
      beginning.append(byte)
    }
    return String(decoding: beginning, as: UTF8.self)
  }

  /// Why no router would take it, as a sentence; nil if one may.
  var problem: String? {
    WAMPURI.problem(uri, match).map { "'\(uri)' \($0)" }
  }
}
