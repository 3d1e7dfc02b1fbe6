extension Setting<AccessDraft> {
  /// `[[access]]`.
  static var declared: [Self] {
    [
      Setting(
        "user", \.user, SettingType<AccessDraft.Account>.account("a user").optional,
        "Who the rule is for: a user, by name or number."),
      Setting(
        "uid", \.uid, SettingType<AccessDraft.Account>.account("a user").optional, "Another name for `user`."),
      Setting(
        "group", \.group, SettingType<AccessDraft.Account>.account("a group").optional,
        "Who the rule is for: the members of a group, by name or number."),
      Setting(
        "gid", \.gid, SettingType<AccessDraft.Account>.account("a group").optional, "Another name for `group`."),
      Setting(
        "upstream", \.upstreams, SettingType<[AccessDraft.UpstreamPattern]>.upstreams.optional,
        "Names or globs of configured upstreams. Without it the rule is for every upstream, those used by URL included."
      ),
      Setting("allow", \.allow, SettingType<AccessVerb>.choices.optional, "What is allowed."),
      Setting("events", \.events, .unavailable, "Not available in this version."),
    ]
  }
}
