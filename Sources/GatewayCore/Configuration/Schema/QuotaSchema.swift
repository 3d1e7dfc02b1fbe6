extension Setting<Quota> {
  private static var counts: ClosedRange<Int> { 1...10_000_000 }

  /// `[quota]` and `[quota.group.NAME]`.
  static var declared: [Self] {
    [
      Setting(
        "clients", \.clients, SettingType<Int>.count(counts).optional,
        "Local clients. The next one is turned away with QuotaExceeded. Without it `limits.clients_per_user`.",
        example: "4096"),
      Setting(
        "subscriptions", \.subscriptions, SettingType<Int>.count(counts).optional,
        "Subscriptions of all clients of the user together; one client has `limits.subscriptions` besides. The next one fails with QuotaExceeded. Without it they are not counted together.",
        example: "10000"),
      Setting(
        "sends", \.sends, SettingType<Int>.rate(counts).optional,
        "Sends and requests, with a burst of one second. The next one fails with QuotaExceeded and says when to try again. Without it there is no such bound.",
        example: #""1000/s""#),
      Setting(
        "bytes", \.bytes, SettingType<Int>.byteRate((1 << 10)...(64 << 30)).optional,
        "The same in bytes of events; one that is larger than a second's bytes goes when nothing was sent for a second, and counts as what it is.",
        example: #""16MiB/s""#),
      Setting(
        "connections", \.connections, SettingType<Int>.count(counts).optional,
        "Connections to upstreams used by URL, and to other namespaces of configured upstreams than their own. A call that would need one more fails with QuotaExceeded. Without it half of `limits.connections`.",
        example: "512"),
      Setting(
        "outbox", \.outbox, SettingType<Int>.count(counts).optional,
        "Durable sends to all upstreams that are not finished. The next one fails with QuotaExceeded, whatever `outbox.when_full` says. Without it half of `outbox.total_entries`.",
        example: "10000"),
    ]
  }
}
