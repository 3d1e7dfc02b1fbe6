extension Setting<WAMPSettings> {
  static var declared: [Self] {
    [
      Setting(
        "realm", \.realm, SettingType<String>.realm.optional,
        "The realm to join. Not needed where the URL names it behind `#`.", example: #""com.example.realm""#),
      Setting(
        "authid", \.authID, SettingType<String>.authID.optional,
        "Who we are, where the credentials have no member `authid`.", example: #""reader""#),
      Setting(
        "invoke", \.invoke, .choice,
        "Whom the router calls when several sessions register one procedure; the others must have said the same."),
      Setting(
        "readable_tickets", \.readableTickets, .flag,
        "Send tickets without TLS to other hosts than this one, where everybody on the way can read them?"),
    ]
  }
}

extension SettingType<String> {
  /// The name of a realm.
  fileprivate static var realm: Self {
    .text("name", expected: "the name of a realm: components between dots, without white space and #") {
      WAMPURI.problem($0) == nil
    }
  }

  /// What an authid may be: anything but nothing.
  fileprivate static var authID: Self {
    .text("name", expected: "1 to 255 printable characters") { text in
      (1...255).contains(text.utf8.count) && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
    }
  }
}
