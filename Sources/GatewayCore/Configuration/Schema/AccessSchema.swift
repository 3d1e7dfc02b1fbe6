extension Setting<AccessDraft> {
  /// `[[access]]`.
  static var declared: [Self] {
    [
      Setting(
        "user", \.user, SettingType<AccessDraft.Account>.account("a user").optional,
        "Whom the rule is for: a user, by name or number. Exactly one of `user` and `group` is needed.",
        example: #""backup""#),
      Setting(
        "uid", \.uid, SettingType<AccessDraft.Account>.account("a user").optional, "Another name for `user`.",
        example: #"1000"#),
      Setting(
        "group", \.group, SettingType<AccessDraft.Account>.account("a group").optional,
        "Whom the rule is for: the members of a group, by name or number.", example: #""ops""#),
      Setting(
        "gid", \.gid, SettingType<AccessDraft.Account>.account("a group").optional, "Another name for `group`.",
        example: #"27"#),
      Setting(
        "upstream", \.upstreams, SettingType<[AccessDraft.UpstreamPattern]>.upstreams.optional,
        "Names of configured upstreams, or globs: `*` stands for any run of characters, `?` for one. Without it the rule is for every upstream, those used by URL included.",
        example: #"["chat", "metrics-*"]"#
      ),
      Setting(
        "allow", \.allow, SettingType<AccessVerb>.choices.optional,
        "What is allowed, at least one of them; none implies another, but where no rule for the upstream names `request`, `send` includes it.",
        example: #"["status", "subscribe", "send"]"#),
      Setting(
        "namespaces", \.namespaces, SettingType<[String]>.patterns("namespaces", longest: 1_024).optional,
        "Namespaces in which it is allowed, by name or glob; without it in every one.", example: #"["/", "/chat*"]"#),
      Setting(
        "events", \.events, SettingType<[String]>.patterns("events", longest: 256).optional,
        "Events that may be sent and read, by name or glob; without it every one. Packets of other events are not shown by a trace, and other users' durable sends of them are not listed.",
        example: #"["alarm.*", "say"]"#),
    ]
  }
}

/// An access rule while it is being read: its account and its upstreams are not looked up yet.
struct AccessDraft {
  /// An account as it is written: by name or by number. Digits in a string are a number if no account has them as a
  /// name.
  enum Account: Equatable, Sendable {
    case name(String)
    case number(UInt32)
  }

  /// An upstream's name or a glob, and where it stands.
  struct UpstreamPattern: Sendable {
    var text: String
    var position: TextPosition
  }

  var user: Account?
  var uid: Account?
  var group: Account?
  var gid: Account?
  var upstreams: [UpstreamPattern]?
  var allow: [AccessVerb]?
  var namespaces: [String]?
  var events: [String]?
}

extension SettingType<AccessDraft.Account> {
  /// A name, or an id below 2^32 - 1, which Linux keeps for "no id".
  static func account(_ what: String) -> Self {
    Self(
      "name or number",
      read: { (node) throws(SettingFindings) in
        let expectation = "the name or number of \(what)"
        if case .integer(let number) = node.value {
          guard let id = UInt32(exactly: number), id < .max else {
            throw SettingFindings("must be \(expectation), not \(number)", at: node)
          }
          return .number(id)
        }
        let text = try node.text(expected: expectation)
        guard !text.isEmpty, text.isPrintable else {
          throw SettingFindings("must be \(expectation), not \(text.tomlString)", at: node)
        }
        return .name(text)
      },
      write: { account in
        switch account {
        case .name(let name): name.tomlString
        case .number(let id): "\(id)"
        }
      })
  }
}

extension SettingType<[AccessDraft.UpstreamPattern]> {
  /// Names and globs.
  static var upstreams: Self {
    Self(
      "list of names",
      read: { (node) throws(SettingFindings) in
        let pattern = SettingType<AccessDraft.UpstreamPattern>(
          "name",
          read: { (node) throws(SettingFindings) in
            .init(text: try node.text(expected: "a list of strings"), position: node.position)
          },
          write: { $0.text.tomlString })
        return try node.elements(of: pattern, expected: "a list of names of upstreams")
      },
      write: { patterns in "[" + patterns.map(\.text.tomlString).joined(separator: ", ") + "]" })
  }
}

extension SettingType<[String]> {
  /// Names and globs, at most 256 of them, with at most so many bytes each.
  static func patterns(_ what: String, longest: Int) -> Self {
    let limit = 256
    return Self(
      "list of names",
      read: { (node) throws(SettingFindings) in
        let expectation = "a list of names or globs of \(what)"
        let pattern = SettingType<String>(
          "name",
          read: { (node) throws(SettingFindings) in
            let text = try node.text(expected: expectation)
            guard 1...longest ~= text.utf8.count else {
              throw SettingFindings("must have names of 1 to \(longest) bytes", at: node)
            }
            return text
          },
          write: { $0.tomlString })
        let patterns = try node.elements(of: pattern, expected: expectation)
        guard patterns.count <= limit else { throw SettingFindings("may have \(limit) names and globs", at: node) }
        return patterns
      },
      write: { "[" + $0.map(\.tomlString).joined(separator: ", ") + "]" })
  }
}
