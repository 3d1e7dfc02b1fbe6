/// All settings, each declared once. Adding one means: a property with its default, a line here, and a row in the test
/// that sets every setting. What the documents say about it is written from here, by `make documents`.
enum ConfigurationSchema {
  /// The tables that exist once.
  static let tables = SettingList<Configuration>(
    Setting<SocketSettings>.declared.map { $0.within(\.socket, prefix: "socket.") }
      + Setting<LogSettings>.declared.map { $0.within(\.log, prefix: "log.") }
      + Setting<Limits>.declared.map { $0.within(\.limits, prefix: "limits.") }
      + Setting<StateSettings>.declared.map { $0.within(\.state, prefix: "state.") }
      + Setting<OutboxSettings>.declared.map { $0.within(\.outbox, prefix: "outbox.") }
      + Setting<MetricsSettings>.declared.map { $0.within(\.metrics, prefix: "metrics.") }
      + Setting<FleetOptions>.declared.map { $0.within(\.fleet, prefix: "fleet.") }
      + Setting<Quota>.declared.map { $0.within(\.quotas.user, prefix: "quota.") }
      + [adhoc] + Setting<UpstreamSettings>.declared.map { $0.within(\.defaults, prefix: "defaults.") },
    others: ["upstream", "access", "quota.group"])

  /// `[upstream.NAME]`.
  static let upstream = SettingList<UpstreamDraft>(
    Setting<UpstreamDraft>.declared + Setting<UpstreamSettings>.declared.map { $0.within(\.settings) })

  /// `options` of a target: what a program may say of a URL.
  static let options = SettingList<UpstreamSettings>(
    Setting<UpstreamSettings>.declared.filter { ["path", "tls.verify"].contains($0.name) } + [
      Setting("headers", \.headerTable, .headers(from: .place), "Added to every HTTP request."),
      Setting("query", \.queryTable, .query(from: .place), "Added to the query of every HTTP request."),
      Setting("tls.ca", \.tls.ca, SettingType<CertificateAuthorities>.authorityText.optional, "Whom to trust."),
    ])

  /// `[[access]]`.
  static let access = SettingList<AccessDraft>(Setting<AccessDraft>.declared)

  /// `[quota.group.NAME]`.
  static let quota = SettingList<Quota>(Setting<Quota>.declared)

  private static let adhoc = Setting<Configuration>(
    "defaults.adhoc", \.adhoc, .flag,
    "May upstreams that are not configured be used by URL? With `false` such a call fails with UpstreamUnknown.")

  /// The tables that have a setting of this name, for an administrator who wrote it elsewhere.
  static func homes(of name: String) -> [String] {
    guard !name.contains(".") else { return [] }
    var homes = tables.settings.filter { $0.name.hasSuffix("." + name) && $0.name.split(separator: ".").count == 2 }
      .map { String($0.name.prefix { $0 != "." }) }
    if upstream.settings.contains(where: { $0.name == name }) { homes.append("upstream.NAME") }
    if access.settings.contains(where: { $0.name == name }) { homes.append("[access]") }
    return homes
  }
}
