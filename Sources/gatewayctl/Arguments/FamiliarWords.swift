/// Words that a person tries because other programs have them, and what to write here instead. Looked up before the
/// nearest name is, which would mean something else.
enum FamiliarWords {
  /// In place of a command.
  static let commands = [
    "check": "gatewayctl status --check",
    "connect": "gatewayctl wait URL",
    "emit": "gatewayctl send URL EVENT",
    "join": #"gatewayctl subscribe --enter '["join","ROOM"]' URL"#,
    "listen": "gatewayctl subscribe URL EVENT",
    "publish": "gatewayctl send URL EVENT",
    "queue": "gatewayctl outbox list",
    "record": "gatewayctl subscribe --record FILE URL",
    "tail": "gatewayctl subscribe URL",
    "watch": "gatewayctl subscribe URL",
  ]
  /// In place of an option, without the dashes.
  static let options = [
    "cookie": "--header 'Cookie: …'",
    "durable": "--delivery durable",
    "join": #"--enter '["join","ROOM"]'"#,
    "once": "-n 1",
    "password": #"--auth '{"password":"…"}', or --auth @FILE"#,
    "room": #"--enter '["join","ROOM"]', with the event by which the server lets in"#,
    "silent": "--quiet",
    "token": #"--auth '{"token":"…"}', or --auth @FILE"#,
    "H": "--header",
    "k": "--insecure",
    "s": "--quiet",
  ]
}
