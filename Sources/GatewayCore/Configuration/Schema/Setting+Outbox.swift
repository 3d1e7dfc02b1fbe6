extension Setting<OutboxSettings> {
  private static var counts: ClosedRange<Int> { 1...10_000_000 }
  private static var bytes: ClosedRange<Int> { (4 << 10)...(64 << 30) }

  /// `[outbox]`.
  static var declared: [Self] {
    [
      Setting(
        "entries", \.entries, .count(counts),
        "Durable sends of one user to one upstream that are not finished; all users together may have twice as many there. What happens to the next one says `when_full`."
      ),
      Setting(
        "bytes", \.bytes, .size(bytes),
        "The same in bytes, where a send counts as its message and 512 bytes; the limit that is reached first counts."),
      Setting(
        "total_entries", \.totalEntries, .count(counts),
        "Durable sends over all upstreams that are not finished; one user may have half of them."),
      Setting("total_bytes", \.totalBytes, .size(bytes), "The same in bytes."),
      Setting(
        "age", \.age, .duration(milliseconds: 1_000...31_536_000_000),
        "How long a durable send may wait; a longer `ttl` is cut to it, and one without `ttl` has this one. Then it ends as expired."
      ),
      Setting(
        "when_full", \.whenFull, .choice,
        "What happens to a durable send when a limit is reached: it fails with QueueFull, or its user's oldest one gives way and ends as dropped."
      ),
      Setting(
        "keep", \.keep, .duration(milliseconds: 1...31_536_000_000),
        "How long `outbox.list` shows what is finished, and `outbox.retry` can send again what failed."),
      Setting(
        "keep_entries", \.keepEntries, .count(counts),
        "Finished sends that are shown at most; the oldest are forgotten first. Their bytes are bounded by `bytes`."),
    ]
  }
}
