extension Setting<HistorySettings> {
  /// `history = { … }`.
  static var declared: [Self] {
    [
      Setting(
        "events", \.events, .count(0...1_000_000),
        "Most received events that are kept in memory for programs that come back or come late; the oldest goes. 0 keeps none."
      ),
      Setting(
        "bytes", \.bytes, .size((1 << 10)...(1 << 30)),
        "Most bytes of them, as they are delivered; the oldest goes."),
      Setting(
        "age", \.age, .duration(milliseconds: 100...31_536_000_000), "How long an event is kept."),
      Setting(
        "disk", \.disk, .flag,
        "Keep them in the state folder as well, in files of about twice that size, so that events, numbers and epoch outlive a restart or a crash of the daemon? Nothing is synced for each event: a loss of power ends the epoch. Of configured upstreams only."
      ),
    ]
  }
}

extension Setting<HeartbeatSettings> {
  /// `heartbeat = { … }`.
  static var declared: [Self] {
    [
      Setting(
        "interval", \.interval, .duration(milliseconds: 100...86_400_000),
        "How often a server whose protocol has no heartbeat is asked for a sign of life, by a WebSocket ping."),
      Setting(
        "timeout", \.timeout, .duration(milliseconds: 100...86_400_000),
        "How long such a question may stay unanswered while nothing else comes either. Then the link is lost with `heartbeat`."
      ),
    ]
  }
}

extension Setting<ServerTimeSettings> {
  /// `server_time = { … }`.
  static var declared: [Self] {
    [
      Setting(
        "event", \.event, SettingType<String>.eventName.optional,
        "Event by which the server tells its time by itself. It is delivered like any other.", example: #""tick""#),
      Setting(
        "request", \.request, SettingType<String>.eventName.optional,
        "Event that is sent after each connect, a few times, and then every so often; the server's acknowledgement tells its time, which is the most exact.",
        example: #""time""#),
      Setting(
        "member", \.member, SettingType<String>.memberName.optional,
        "Member of an argument that is the time, such as `now` or `data.now`. Without it the argument itself is the time.",
        example: #""now""#
      ),
      Setting(
        "unit", \.unit, .choice,
        "What the time counts since 1970: milliseconds, seconds or microseconds. A text in ISO 8601 needs no unit."),
      Setting(
        "every", \.every, .duration(milliseconds: 1_000...86_400_000), "How often `request` is sent."),
      Setting(
        "tolerance", \.tolerance, .duration(milliseconds: 0...31_536_000_000),
        "Where nothing better is known, the `Date` header of the handshake overrules the local clock if that is out by more than this; with `8760h` it never does."
      ),
    ]
  }
}
