extension Setting<RefreshSettings> {
  /// `refresh = { … }`.
  static var declared: [Self] {
    [
      Setting(
        "share", \.share, .count(1...50),
        "Credentials that hold a token with an end (a JSON Web Token with `exp`) are read again this long before it, in percent of the time that the token has left when it is used first. If they are others, the connection is joined again with them."
      ),
      Setting(
        "least", \.least, .duration(milliseconds: 1_000...86_400_000),
        "Shortest time before the end, and between two readings. A token that lives for less than twice as long is read at half of its life."
      ),
      Setting("most", \.most, .duration(milliseconds: 1_000...86_400_000), "Longest time before the end."),
    ]
  }
}

extension Setting<CompressionSettings> {
  /// `compression = { … }`.
  static var declared: [Self] {
    [
      Setting(
        "enabled", \.enabled, .flag,
        "Offer compressed WebSocket messages (permessage-deflate) to the server, which decides? `status` shows its answer."
      ),
      Setting(
        "threshold", \.threshold, .size(0...(1 << 30)),
        "Smallest message that is compressed on its way to the server; smaller ones leave as they are. A single send can do without: `gatewayctl send --no-compress`."
      ),
    ]
  }
}

extension Setting<TLSSettings> {
  /// `tls = { … }`.
  static var declared: [Self] {
    [
      Setting(
        "ca", \.ca, SettingType<CertificateAuthorities>.authorities.optional,
        "PEM file of the certificates to trust instead of the system's, or its text, which begins with `-----BEGIN CERTIFICATE-----`.",
        example: #""/etc/gatewayd/ca.pem""#),
      Setting(
        "cert", \.certificate, SettingType<String>.path().optional,
        "PEM file of a client certificate. Needs `tls.key`.", example: #""/etc/gatewayd/client.pem""#),
      Setting(
        "key", \.key, SettingType<String>.path().optional,
        "PEM file of the client certificate's key. Needs `tls.cert`.", example: #""/etc/gatewayd/client.key""#
      ),
      Setting("verify", \.verify, .flag, "`false` accepts every certificate; `status` shows it."),
      Setting(
        "server_name", \.serverName, SettingType<String>.hostName.optional,
        "Name that is asked for in the TLS handshake and checked in the certificate, instead of the URL's host.",
        example: #""chat.example.com""#),
      Setting("min_version", \.minimum, .choice, "Oldest version of TLS that is spoken."),
      Setting(
        "pins", \.pins, .pins,
        "Hashes of public keys, such as `sha256//…` in base64. The server's key must be one of them."),
      Setting(
        "key_password", \.keyPassword, SettingType<String>.secret.optional,
        "Password of the key's file. Not together with `tls.key_password_file`.", example: #""…""#),
      Setting(
        "key_password_file", \.keyPasswordFile, SettingType<String>.path().optional,
        "File with the password of the key's file, read at each connect.", example: #""/etc/gatewayd/client.password""#),
    ]
  }
}

extension Setting<ReconnectSettings> {
  private static var delay: ClosedRange<Int> { 10...86_400_000 }

  /// `reconnect = { … }`.
  static var declared: [Self] {
    [
      Setting(
        "base", \.base, .duration(milliseconds: delay),
        "Longest wait before the first new attempt; doubled after every failed one. The wait itself is drawn at random from zero up to that."
      ),
      Setting("cap", \.cap, .duration(milliseconds: delay), "Where the doubling ends."),
      Setting(
        "stable", \.stable, .duration(milliseconds: 0...86_400_000),
        "How long a connection must have lasted before the waits begin with `base` again."),
      Setting(
        "refused_base", \.refusedBase, .duration(milliseconds: delay),
        "As `base`, while the server answers but refuses the connection: wrong credentials do not get better by asking often."
      ),
      Setting(
        "refused_cap", \.refusedCap, .duration(milliseconds: delay),
        "As `cap`, while the server answers but refuses the connection. A server's `Retry-After` counts up to the larger of the two."
      ),
      Setting(
        "enabled", \.enabled, .flag,
        "With `false` a connection that was lost, or could not be made, stays down until `gatewayctl reconnect`."),
      Setting(
        "attempts", \.attempts, .count(0...1_000_000),
        "After so many failed attempts in a row comes a rest, then the next series. 0: never. Refusals are not counted."
      ),
      Setting(
        "rest", \.rest, .duration(milliseconds: delay), "The wait between two such series."),
    ]
  }
}

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
        "disk", \.disk, SettingType<Bool>.flag.optional,
        "Keep them in the state folder as well, in files of about twice that size, so that events, numbers and epoch outlive restarts of the machine, too? Nothing is synced for each event: a loss of power ends the epoch. Unless set they are kept in `$RUNTIME_DIRECTORY` where the service manager gives one, as its units do: in memory, but so that they outlive restarts and crashes of the daemon. `false` keeps them in neither. Of configured upstreams only.",
        example: "true"
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
