extension Setting<LinesSettings> {
  /// `lines = { … }`.
  static var declared: [Self] {
    [
      Setting("type", \.type, .memberName, "`tcp://`, `tls://`: the member that says what a message is."),
      Setting("id", \.id, .memberName, "The member by which an answer finds its request."),
      Setting(
        "body", \.body, .memberNameOrNothing,
        "The member that carries an event's argument. `\"\"`: the message's other members are those of the argument."),
      Setting("error", \.error, .memberName, "The member whose presence makes an answer a failure."),
      Setting("end", \.end, .choice, "What ends the lines that are written. Both are read."),
      Setting(
        "time", \.time, SettingType<String>.memberName.optional,
        "The member of messages that carries the server's time, such as `time` or `body.now`, for the time of events.",
        example: #""time""#),
      Setting(
        "time_unit", \.timeUnit, .choice,
        "What that time counts since 1970: milliseconds, seconds or microseconds. A text in ISO 8601 needs no unit."),
      Setting(
        "readable_login", \.readableLogin, .flag,
        "Send `auth` over `tcp://` to other hosts than this one, where everybody on the way can read it?"),
    ] + Setting<LinesHeartbeat>.declared.map { $0.within(\.heartbeat, prefix: "heartbeat.") }
      + Setting<LinesLogin>.declared.map { $0.within(\.login, prefix: "login.") }
  }
}

extension Setting<LinesHeartbeat> {
  fileprivate static var declared: [Self] {
    [
      Setting(
        "type", \.type, SettingType<String>.memberName.optional,
        "What is written every now and then, as a message of this type. Absent: there is no heartbeat.",
        example: #""ping""#),
      Setting(
        "answer", \.answer, SettingType<String>.memberName.optional,
        "The type that answers it, in both directions. Absent: nothing does, both sides write unasked.",
        example: #""pong""#),
      Setting("every", \.every, .duration(milliseconds: 100...86_400_000), "How often."),
      Setting(
        "misses", \.misses, .count(1...100),
        "After so many in a row without anything from the server the link is lost with `heartbeat`."),
    ]
  }
}

extension Setting<LinesLogin> {
  fileprivate static var declared: [Self] {
    [
      Setting(
        "type", \.type, SettingType<String>.memberName.optional,
        "What is written after connecting, with the credentials of `auth` as its body. Absent: nobody logs in.",
        example: #""login""#),
      Setting(
        "accepted", \.accepted, SettingType<String>.memberName.optional,
        "The type that means yes. Absent: the answer with the login's id that is no failure.", example: #""welcome""#),
      Setting(
        "refused", \.refused, SettingType<String>.memberName.optional,
        "The type that means no, beside an answer that is a failure.", example: #""denied""#),
    ]
  }
}

extension SettingType<String> {
  /// The name of a member of a JSON object, or an empty text.
  fileprivate static var memberNameOrNothing: Self {
    text("text", expected: "a name of at most 64 bytes") { $0.utf8.count <= 64 && $0.isPrintable }
  }
}
