/// Longest duration of any setting: 365 days, in milliseconds.
private let year = 365 * 24 * 3_600_000

extension Setting<UpstreamDraft> {
  /// What `[upstream.NAME]` has and `[defaults]` has not: an address and a secret belong to one upstream.
  static var declared: [Self] {
    [
      Setting(
        "url", \.url, SettingType<String>.url.optional,
        "Address of the server; its path is the namespace. Schemes: `http`, `https`, `ws`, `wss`."),
      Setting(
        "auth", \.settings.auth, .payload,
        "Payload of the CONNECT packet, such as `{ token = \"…\" }`. Not together with `auth_file`."),
      Setting(
        "auth_file", \.settings.auth, .file,
        "File that is read at each connect. A JSON object in it is the payload; anything else becomes `{\"token\":\"…\"}`."
      ),
      Setting("auth_command", \.settings.auth, .unavailable, "Not available in this version."),
    ]
  }
}

extension Setting<UpstreamSettings> {
  /// What an upstream has and `[defaults]` can set for all of them.
  static var declared: [Self] {
    requestSettings + timeSettings + messageSettings
      + Setting<TLSSettings>.declared.map { $0.within(\.tls, prefix: "tls.") }
      + Setting<ReconnectSettings>.declared.map { $0.within(\.reconnect, prefix: "reconnect.") }
  }

  private static var requestSettings: [Self] {
    [
      Setting("path", \.path, .requestPath, "HTTP path of the server; a slash at its end is part of it."),
      Setting("headers", \.headers, .headers, "Added to every HTTP request."),
      Setting("query", \.query, .query, "Added to the query of every HTTP request."),
      Setting(
        "transports", \.transports, .transports,
        "Transports in the order of preference. `polling` is not available in this version and is passed over."),
    ]
  }

  private static var timeSettings: [Self] {
    [
      Setting(
        "keep", \.keep, .choice, "`on-demand` connects while somebody uses the upstream, `always` from the start on."),
      Setting(
        "linger", \.linger, .duration(milliseconds: 0...year), "How long a connection stays after its last user left."),
      Setting(
        "retain", \.retain, .duration(milliseconds: 0...year),
        "How long an unused, closed connection is still listed by `status`."),
      Setting(
        "ttl", \.ttl, .duration(milliseconds: 1...year),
        "Time-to-live of a queued send that names none. Then it ends as `expired`."),
      Setting(
        "flush", \.flush, .count(1...1_000_000),
        "Sends per second that leave when the connection is back, as long as there are some that queued up before."),
      Setting(
        "handshake", \.handshake, .duration(milliseconds: 10...3_600_000),
        "Limit of each phase of a handshake. Then the attempt has failed with `timeout`."),
      Setting(
        "reconnect_after_kick", \.reconnectAfterKick, .flag,
        "Connect again after the server disconnected the namespace?"),
    ]
  }

  private static var messageSettings: [Self] {
    [
      Setting(
        "attachments", \.attachments, .count(1...1_000),
        "Most binary attachments in one message. A send with more fails with InvalidParams; a server that sends more loses its link."
      ),
      Setting(
        "message_limit", \.messageLimit, .size((1 << 10)...(1 << 30)),
        "Largest message from the server. A larger one closes the link with `too_large`."),
    ]
  }
}

extension Setting<TLSSettings> {
  /// `tls = { … }`.
  static var declared: [Self] {
    [
      Setting(
        "ca", \.ca, SettingType<String>.path().optional,
        "PEM file of the certificates to trust instead of the system's."),
      Setting(
        "cert", \.certificate, SettingType<String>.path().optional,
        "PEM file of a client certificate. Needs `tls.key`."),
      Setting(
        "key", \.key, SettingType<String>.path().optional, "PEM file of the client certificate's key. Needs `tls.cert`."
      ),
      Setting("verify", \.verify, .flag, "`false` accepts every certificate; `status` shows it."),
      Setting(
        "server_name", \.serverName, SettingType<String>.hostName.optional,
        "Name that is asked for and checked in the certificate, instead of the URL's host."),
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
        "Longest wait before the first new attempt; doubled after every failed one. The wait itself is random."),
      Setting("cap", \.cap, .duration(milliseconds: delay), "Where the doubling ends."),
      Setting(
        "stable", \.stable, .duration(milliseconds: 0...86_400_000),
        "How long a connection must have lasted before the waits begin with `base` again."),
      Setting(
        "refused_base", \.refusedBase, .duration(milliseconds: delay),
        "As `base`, while the server answers but refuses the connection."),
      Setting(
        "refused_cap", \.refusedCap, .duration(milliseconds: delay),
        "As `cap`, while the server answers but refuses the connection."),
    ]
  }
}
