/// Longest duration of any setting: 365 days, in milliseconds.
private let year = 365 * 24 * 3_600_000

/// An upstream while its tables are being read: its URLs are still text, and may be missing.
struct UpstreamDraft {
  var url: [String]?
  var settings: UpstreamSettings
}

extension Setting<UpstreamDraft> {
  /// What `[upstream.NAME]` has and `[defaults]` has not: an address and a secret belong to one upstream.
  static var declared: [Self] {
    [
      Setting(
        "url", \.url, SettingType<[String]>.urls.optional,
        "Address of the server; its scheme says what the server speaks: `http`, `https`, `ws`, `wss` Socket.IO, whose namespace is the path; `raw+ws`, `raw+wss` plain WebSockets; `tcp`, `tls` with a port JSON lines; `wamp+ws`, `wamp+wss` WAMP with the realm behind `#`. Of several in a list, the next one is tried when one cannot be used.",
        example: #""https://chat.example.com/admin""#
      ),
      Setting(
        "auth", \.settings.auth, .payload,
        "Payload of the CONNECT packet. Only one of the settings that begin with `auth` and name a source; avoid this one, because the configuration is often readable for everybody.",
        example: #"{ token = "…" }"#
      ),
      Setting(
        "auth_file", \.settings.auth, .external(.secretFile),
        "File that is read at each connect, so that a new token needs no reload. A JSON object in it is the payload; anything else becomes `{\"token\":\"…\"}` without its line end.",
        example: #""/etc/gatewayd/chat.token""#
      ),
      Setting(
        "auth_credential", \.settings.auth, .external(.credential),
        "The same, by the name of a credential that systemd passes with `LoadCredential=`.", example: #""chat.token""#),
      Setting(
        "auth_command", \.settings.auth, .external(.command),
        "Program and arguments; it runs without a shell at each connect, and what it prints is treated as the content of `auth_file`. A name without a path is looked for in the usual folders.",
        example: #"["/usr/local/bin/chat-token", "--audience", "chat"]"#),
      Setting(
        "on_connect", \.settings.onConnect, .messages,
        "Messages that are said at every connect, before anything else and for all programs, each an array of the event and its arguments: a room that everybody is in. Programs add others with `enter` of `subscribe`. Only on the upstream's own namespace; not for WAMP.",
        example: #"[["join", { room = "ops" }]]"#),
      Setting(
        "fleet", \.settings.fleet, .flagWithoutDefault,
        "Share one link with the other hosts of the fleet? Needs `[fleet]`; not together with `history.disk`.",
        example: "true"
      ),
    ]
  }
}

extension Setting<UpstreamSettings> {
  /// What an upstream has and `[defaults]` can set for all of them.
  static var declared: [Self] {
    requestSettings + proxySettings + timeSettings + messageSettings + credentialSettings
      + Setting<HistorySettings>.declared.map { $0.within(\.history, prefix: "history.") }
      + Setting<ServerTimeSettings>.declared.map { $0.within(\.serverTime, prefix: "server_time.") }
      + Setting<CompressionSettings>.declared.map { $0.within(\.compression, prefix: "compression.") }
      + Setting<TLSSettings>.declared.map { $0.within(\.tls, prefix: "tls.") }
      + Setting<ReconnectSettings>.declared.map { $0.within(\.reconnect, prefix: "reconnect.") }
      + Setting<HeartbeatSettings>.declared.map { $0.within(\.heartbeat, prefix: "heartbeat.") }
      + Setting<PlainWebSocketSettings>.declared.map { $0.within(\.websocket, prefix: "websocket.") }
      + Setting<LinesSettings>.declared.map { $0.within(\.lines, prefix: "lines.") }
      + Setting<WAMPSettings>.declared.map { $0.within(\.wamp, prefix: "wamp.") }
  }

  private static var requestSettings: [Self] {
    [
      Setting("path", \.path, .requestPath, "HTTP path of the Socket.IO server; a slash at its end is part of it."),
      Setting(
        "headers", \.headerTable, .headers(),
        "Added to every HTTP request; the values are secrets, and none goes to a URL that a local program chose. A value is a string, or `{ file = \"…\" }`, `{ credential = \"…\" }` or `{ command = […] }`, read at each connect, perhaps with a `prefix` such as `\"Bearer \"`."
      ),
      Setting(
        "query", \.queryTable, .query(), "Added to the query of every HTTP request. Values as those of `headers`."),
      Setting(
        "transports", \.transports, SettingType<TransportName>.choices,
        "Transports in the order of preference. The next one is tried when one fails; what worked is tried first the next time."
      ),
      Setting(
        "upgrade", \.upgrade, .flag,
        "Go on over a WebSocket where a session began with long-polling and `transports` names both?"),
    ]
  }

  private static var proxySettings: [Self] {
    [
      Setting(
        "proxy", \.proxy.choice, .proxy,
        "Proxy to the server: `http://` tunnels by CONNECT, servers without TLS too; with `socks5://` the daemon looks up the server's name, with `socks5h://` the proxy does. User and password stand before the host, with percent-encoding. `none` is no proxy. Absent: the environment's `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`.",
        example: #""http://gateway@proxy.example.com:3128""#
      ),
      Setting(
        "proxy_password_file", \.proxy.passwordFile, SettingType<String>.path().optional,
        "File with the password for the proxy, read at each connect.", example: #""/etc/gatewayd/proxy.password""#),
      Setting(
        "no_proxy", \.proxy.exceptions, .exceptions,
        "Hosts that are reached without a proxy: names with all below them, addresses, networks, or `*`.",
        example: #"["internal.example.com", "10.0.0.0/8"]"#),
      Setting(
        "redirects", \.redirects, .choice,
        "Which redirects are followed: none, those to other paths and ports of the same host, or all. Never more than five in a row, and never from TLS to plain text."
      ),
    ]
  }

  private static var credentialSettings: [Self] {
    [
      Setting(
        "auth_timeout", \.authTimeout, .duration(milliseconds: 10...600_000),
        "How long a command that prints credentials may run. Then it is ended and the attempt has failed with `auth`.")
    ] + Setting<RefreshSettings>.declared.map { $0.within(\.refresh, prefix: "refresh.") }
  }

  private static var timeSettings: [Self] {
    [
      Setting(
        "keep", \.keep, .choice,
        "`on-demand` connects while somebody uses the upstream, `always` from the daemon's start to its end."),
      Setting(
        "linger", \.linger, .duration(milliseconds: 0...year),
        "How long a connection stays open after its last user left, so that the next one does not have to wait. `0s` closes it at once."
      ),
      Setting(
        "retain", \.retain, .duration(milliseconds: 0...year),
        "How long an unused, closed connection is still listed by `status`."),
      Setting(
        "ttl", \.ttl, .duration(milliseconds: 1...year),
        "Time-to-live of a send that waits for its connection and names none itself. After that it ends as `expired`."),
      Setting(
        "key_member", \.keyMember, SettingType<String>.memberName.optional,
        "Name under which the `key` of a send is put into its arguments, for servers that recognise repetitions: into the last one if it is an object, else as one more argument.",
        example: #""idempotency_key""#
      ),
      Setting(
        "retry_window", \.retryWindow, .count(1...1_000),
        "Sends with `retries` of one user that may wait for their acknowledgement at a time. Above 1, one that is written again on the same link may arrive behind later ones; after a reconnect the order holds."
      ),
      Setting(
        "flush", \.flush, .count(1...1_000_000),
        "Sends per second that leave when the connection is back, as long as there are some that queued up before: a server that returns is not flooded."
      ),
      Setting(
        "handshake", \.handshake, .duration(milliseconds: 10...3_600_000),
        "Limit of each phase of a handshake: name, TCP, proxy, TLS, the WebSocket upgrade, the protocol's own opening, the joining of the namespace. Then the attempt has failed with `timeout`, and the next one follows the back-off."
      ),
      Setting(
        "connect_timeout", \.connectTimeout, SettingType<Duration>.duration(milliseconds: 10...3_600_000).optional,
        "Limit of the last phase alone, in which the server accepts the namespace: some ask a database first. Without it `handshake` counts.",
        example: #""30s""#),
      Setting(
        "probe_timeout", \.probeTimeout, .duration(milliseconds: 10...3_600_000),
        "After a suspend or a change of the network the server is asked whether it is still there. Without an answer in this time the link is lost with `heartbeat`."
      ),
      Setting(
        "force_new", \.forceNew, .flag,
        "With `true` each connection has a link of its own; otherwise the namespaces of one server share one."),
      Setting(
        "reconnect_after_kick", \.reconnectAfterKick, .flag,
        "Connect again after the server disconnected the namespace (the reason `kicked`)? With `false` the connection stays down until `gatewayctl reconnect`."
      ),
    ]
  }

  private static var messageSettings: [Self] {
    [
      Setting(
        "parser", \.parser, .choice,
        "How the server writes packets: `msgpack` where it uses Socket.IO's msgpack parser, else `json`; nothing in a conversation tells which. Local programs see JSON either way."
      ),
      Setting(
        "attachments", \.attachments, .count(1...1_000),
        "Most binary attachments in one message. A send with more fails with InvalidParams before anything is written; a server that sends more loses its link with `protocol`. Servers have limits of their own, the usual one is 10."
      ),
      Setting(
        "attachment_timeout", \.attachmentTimeout, .duration(milliseconds: 10...3_600_000),
        "Longest wait from one part of a message with attachments to the next. Then the link is lost with `protocol`."),
      Setting(
        "message_limit", \.messageLimit, .size((1 << 10)...(1 << 30)),
        "Largest message from the server. A larger one closes the link with `too_large`."),
      Setting(
        "message_timeout", \.messageTimeout, .duration(milliseconds: 10...86_400_000),
        "Longest time from the first byte of a message from the server to its last. Then the link is lost with `protocol`."
      ),
      Setting(
        "ping_limit", \.pingLimit, .duration(milliseconds: 100...86_400_000),
        "Longest ping interval and timeout that a Socket.IO server may set, each; longer ones count as this. Raise it for a server that really pings less often: its link would be lost with `heartbeat`."
      ),
      Setting(
        "answer_limit", \.answerLimit, .size((4 << 10)...(1 << 30)),
        "Bytes of answers that a server may ask for without reading them: pongs, errors for calls that nobody answers, signs of life. Beyond it the link is lost with `protocol`."
      ),
    ]
  }
}
