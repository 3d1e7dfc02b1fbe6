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
        "What is allowed, at least one of them; none implies another.", example: #"["status", "subscribe", "send"]"#),
      Setting(
        "events", \.events, .unavailable, "Rights per event come with a later version; until then the name is refused.",
        example: #"["alert.*"]"#),
    ]
  }
}
