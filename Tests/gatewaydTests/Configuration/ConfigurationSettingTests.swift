@testable import GatewayCore
import Testing

@testable import gatewayd

/// Every setting, set to another value than its default, lands in its property and nowhere else.
struct ConfigurationSettingTests {
  /// A setting of a table, and what it makes of the default.
  struct Change<Target>: CustomTestStringConvertible, Sendable {
    let name: String
    let value: String
    let change: @Sendable (inout Target) -> Void

    init(_ name: String, _ value: String, _ change: @escaping @Sendable (inout Target) -> Void) {
      self.name = name
      self.value = value
      self.change = change
    }

    var testDescription: String { "\(name) = \(value)" }
  }

  static let tables: [Change<Configuration>] = [
    Change("socket.path", #""/run/x.sock""#) { $0.socket.path = "/run/x.sock" },
    Change("socket.mode", #""0600""#) { $0.socket.mode = 0o600 },
    Change("socket.group", #""ops""#) { $0.socket.group = "ops" },
    Change("log.level", #""debug""#) { $0.log.level = .debug },
    Change("limits.line", #""2MiB""#) { $0.limits.line = 2 << 20 },
    Change("limits.clients", "17") { $0.limits.clients = 17 },
    Change("limits.clients_per_user", "18") { $0.limits.clientsPerUser = 18 },
    Change("limits.subscriptions", "19") { $0.limits.subscriptions = 19 },
    Change("limits.inflight", "20") { $0.limits.inflight = 20 },
    Change("limits.subscription_queue", "21") { $0.limits.subscriptionQueue = 21 },
    Change("limits.subscription_queue_bytes", #""5000B""#) { $0.limits.subscriptionQueueBytes = 5_000 },
    Change("limits.client_queue_bytes", "6000") { $0.limits.clientQueueBytes = 6_000 },
    Change("limits.send_queue", "22") { $0.limits.sendQueue = 22 },
    Change("limits.receive_bytes", #""1GiB""#) { $0.limits.receiveBytes = 1 << 30 },
    Change("limits.send_bytes", #""2GiB""#) { $0.limits.sendBytes = 2 << 30 },
    Change("limits.history_bytes", #""4GiB""#) { $0.limits.historyBytes = 4 << 30 },
    Change("limits.send_queue_bytes", #""3GiB""#) { $0.limits.sendQueueBytes = 3 << 30 },
    Change("limits.connections", "23") { $0.limits.connections = 23 },
    Change("limits.attempts", "24") { $0.limits.attempts = 24 },
    Change("limits.keys", "26") { $0.limits.keys = 26 },
    Change("limits.attempts_burst", "25") { $0.limits.attemptsBurst = 25 },
    Change("limits.stop", #""500ms""#) { $0.limits.stop = .milliseconds(500) },
    Change("state.path", #""/srv/state""#) { $0.state.path = "/srv/state" },
    Change("outbox.entries", "24") { $0.outbox.entries = 24 },
    Change("outbox.bytes", #""5KiB""#) { $0.outbox.bytes = 5 << 10 },
    Change("outbox.total_entries", "25") { $0.outbox.totalEntries = 25 },
    Change("outbox.total_bytes", #""6KiB""#) { $0.outbox.totalBytes = 6 << 10 },
    Change("outbox.age", #""9s""#) { $0.outbox.age = .seconds(9) },
    Change("outbox.when_full", #""drop_oldest""#) { $0.outbox.whenFull = .dropOldest },
    Change("outbox.keep", #""8s""#) { $0.outbox.keep = .seconds(8) },
    Change("outbox.keep_entries", "26") { $0.outbox.keepEntries = 26 },
    Change("metrics.listen", #""[::1]:9817""#) { $0.metrics.listen = .tcp(host: "::1", port: 9_817) },
    Change("fleet.name", "\"f\"\nfleet.redis = [\"redis://r\"]") {
      $0.fleet.name = "f"
      $0.fleet.redis = [RedisAddress("redis://r")!]
    },
    Change("fleet.redis", "[\"rediss://[::1]:7\"]\nfleet.name = \"f\"") {
      $0.fleet.name = "f"
      $0.fleet.redis = [RedisAddress("rediss://[::1]:7")!]
    },
    Change("fleet.user", #""u""#) { $0.fleet.user = "u" },
    Change("fleet.password_file", #""/p""#) { $0.fleet.password = .file("/p") },
    Change("fleet.password_credential", #""p""#) { $0.fleet.password = .credential("p") },
    Change("fleet.tls.ca", #""/ca""#) { $0.fleet.authorities = .file("/ca") },
    Change("fleet.host", #""h""#) { $0.fleet.host = "h" },
    Change("fleet.hold", #""never""#) { $0.fleet.hold = .never },
    Change("fleet.hold", #""prefer""#) { $0.fleet.hold = .prefer },
    Change("fleet.lease", #""2s""#) { $0.fleet.lease = .seconds(2) },
    Change("fleet.grace", #""9s""#) { $0.fleet.grace = .seconds(9) },
    Change("fleet.adopt", #""8s""#) { $0.fleet.adopt = .seconds(8) },
    Change("fleet.copies", "1") { $0.fleet.copies = 1 },
    Change("fleet.yield", #""7s""#) { $0.fleet.yield = .seconds(7) },
    Change("fleet.durable", #""fleet""#) { $0.fleet.durable = .fleet },
    Change("quota.clients", "31") { $0.quotas.user.clients = 31 },
    Change("quota.subscriptions", "32") { $0.quotas.user.subscriptions = 32 },
    Change("quota.sends", #""33/s""#) { $0.quotas.user.sends = 33 },
    Change("quota.bytes", #""16MiB/s""#) { $0.quotas.user.bytes = 16 << 20 },
    Change("quota.connections", "34") { $0.quotas.user.connections = 34 },
    Change("quota.outbox", "35") { $0.quotas.user.outbox = 35 },
    Change("defaults.adhoc", "false") { $0.adhoc = false },
  ]

  static let upstreams: [Change<UpstreamSettings>] = [
    Change("path", #""/live""#) { $0.path = "/live" },
    Change("headers", #"{ "X-Team" = "a", Accept = "é\t" }"#) {
      $0.headers = [HTTPHeader(name: "X-Team", value: "a"), HTTPHeader(name: "Accept", value: "é\t")]
    },
    Change("query", #"{ v = "2", a = "&" }"#) {
      $0.query = [QueryItem(name: "a", value: "&"), QueryItem(name: "v", value: "2")]
    },
    Change("auth_timeout", #""2s""#) { $0.authTimeout = .seconds(2) },
    Change("refresh.share", "25") { $0.refresh.share = 25 },
    Change("refresh.least", #""31s""#) { $0.refresh.least = .seconds(31) },
    Change("refresh.most", #""9m""#) { $0.refresh.most = .seconds(540) },
    Change("transports", #"["websocket"]"#) { $0.transports = [.websocket] },
    Change("upgrade", "false") { $0.upgrade = false },
    Change("proxy", #""http://user:word@proxy.example:3128""#) {
      $0.proxy.choice = .server(
        ProxyServer(kind: .http, host: "proxy.example", port: 3_128, user: "user", password: "word"))
    },
    Change("proxy_password_file", #""/etc/gatewayd/proxy""#) { $0.proxy.passwordFile = "/etc/gatewayd/proxy" },
    Change("no_proxy", #"["example", "10.0.0.0/8"]"#) { $0.proxy.exceptions = ["example", "10.0.0.0/8"] },
    Change("redirects", #""same-host""#) { $0.redirects = .sameHost },
    Change("keep", #""always""#) { $0.keep = .always },
    Change("linger", #""0s""#) { $0.linger = .zero },
    Change("retain", #""5m""#) { $0.retain = .seconds(300) },
    Change("ttl", #""2h""#) { $0.ttl = .seconds(7_200) },
    Change("key_member", #""key""#) { $0.keyMember = "key" },
    Change("flush", "12") { $0.flush = 12 },
    Change("retry_window", "12") { $0.retryWindow = 12 },
    Change("handshake", #""11s""#) { $0.handshake = .seconds(11) },
    Change("connect_timeout", #""12s""#) { $0.connectTimeout = .seconds(12) },
    Change("probe_timeout", #""6s""#) { $0.probeTimeout = .seconds(6) },
    Change("attachment_timeout", #""7s""#) { $0.attachmentTimeout = .seconds(7) },
    Change("force_new", "true") { $0.forceNew = true },
    Change("reconnect_after_kick", "false") { $0.reconnectAfterKick = false },
    Change("parser", #""msgpack""#) { $0.parser = .msgpack },
    Change("attachments", "11") { $0.attachments = 11 },
    Change("server_time.event", #""tick""#) { $0.serverTime.event = "tick" },
    Change("server_time.request", #""time""#) { $0.serverTime.request = "time" },
    Change("server_time.member", #""data.now", server_time.event = "tick""#) {
      $0.serverTime.event = "tick"
      $0.serverTime.member = "data.now"
    },
    Change("server_time.unit", #""us", server_time.event = "tick""#) {
      $0.serverTime.event = "tick"
      $0.serverTime.unit = .microseconds
    },
    Change("server_time.every", #""90s", server_time.request = "time""#) {
      $0.serverTime.request = "time"
      $0.serverTime.every = .seconds(90)
    },
    Change("server_time.tolerance", #""3s""#) { $0.serverTime.tolerance = .seconds(3) },
    Change("history.events", "0") { $0.history.events = 0 },
    Change("history.bytes", #""1MiB""#) { $0.history.bytes = 1 << 20 },
    Change("history.age", #""1h""#) { $0.history.age = .seconds(3_600) },
    Change("history.disk", "true") { $0.history.disk = true },
    Change("compression.enabled", "false") { $0.compression.enabled = false },
    Change("compression.threshold", #""2KiB""#) { $0.compression.threshold = 2 << 10 },
    Change("message_limit", #""1GiB""#) { $0.messageLimit = 1 << 30 },
    Change("message_timeout", #""9s""#) { $0.messageTimeout = .seconds(9) },
    Change("ping_limit", #""8s""#) { $0.pingLimit = .seconds(8) },
    Change("answer_limit", #""64KiB""#) { $0.answerLimit = 64 << 10 },
    Change("tls.ca", #""/ca""#) { $0.tls.ca = .file("/ca") },
    Change("tls.cert", #""/cert", tls.key = "/key""#) {
      $0.tls.certificate = "/cert"
      $0.tls.key = "/key"
    },
    Change("tls.key", #""/key", tls.cert = "/cert""#) {
      $0.tls.certificate = "/cert"
      $0.tls.key = "/key"
    },
    Change("tls.verify", "false") { $0.tls.verify = false },
    Change("tls.server_name", #""other.example""#) { $0.tls.serverName = "other.example" },
    Change("tls.min_version", #""1.3""#) { $0.tls.minimum = .oneDotThree },
    Change("tls.pins", #"["sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE="]"#) {
      $0.tls.pins = ["sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE="]
    },
    Change("tls.key_password", #""word""#) { $0.tls.keyPassword = "word" },
    Change("tls.key_password_file", #""/etc/gatewayd/word""#) { $0.tls.keyPasswordFile = "/etc/gatewayd/word" },
    Change("reconnect.base", #""2s""#) { $0.reconnect.base = .seconds(2) },
    Change("reconnect.cap", #""40s""#) { $0.reconnect.cap = .seconds(40) },
    Change("reconnect.stable", #""3s""#) { $0.reconnect.stable = .seconds(3) },
    Change("reconnect.refused_base", #""31s""#) { $0.reconnect.refusedBase = .seconds(31) },
    Change("reconnect.refused_cap", #""11m""#) { $0.reconnect.refusedCap = .seconds(660) },
    Change("reconnect.enabled", "false") { $0.reconnect.enabled = false },
    Change("reconnect.attempts", "9") { $0.reconnect.attempts = 9 },
    Change("reconnect.rest", #""1m""#) { $0.reconnect.rest = .seconds(60) },
    Change("heartbeat.interval", #""5s""#) { $0.heartbeat.interval = .seconds(5) },
    Change("heartbeat.timeout", #""3s""#) { $0.heartbeat.timeout = .seconds(3) },
    Change("websocket.subprotocols", #"["a.1", "b"]"#) { $0.websocket.subprotocols = ["a.1", "b"] },
    Change("lines.type", #""cmd""#) { $0.lines.type = "cmd" },
    Change("lines.id", #""seq""#) { $0.lines.id = "seq" },
    Change("lines.body", #""""#) { $0.lines.body = "" },
    Change("lines.error", #""err""#) { $0.lines.error = "err" },
    Change("lines.end", #""crlf""#) { $0.lines.end = .crlf },
    Change("lines.time", #""now""#) { $0.lines.time = "now" },
    Change("lines.time_unit", #""s""#) { $0.lines.timeUnit = .seconds },
    Change("lines.heartbeat.type", #""ping""#) { $0.lines.heartbeat.type = "ping" },
    Change("lines.heartbeat.answer", #""pong", lines.heartbeat.type = "ping""#) {
      ($0.lines.heartbeat.type, $0.lines.heartbeat.answer) = ("ping", "pong")
    },
    Change("lines.heartbeat.every", #""3s""#) { $0.lines.heartbeat.every = .seconds(3) },
    Change("lines.heartbeat.misses", "3") { $0.lines.heartbeat.misses = 3 },
    Change("lines.login.type", #""login""#) { $0.lines.login.type = "login" },
    Change("lines.login.accepted", #""yes", lines.login.type = "login""#) {
      ($0.lines.login.type, $0.lines.login.accepted) = ("login", "yes")
    },
    Change("lines.readable_login", "true") { $0.lines.readableLogin = true },
    Change("lines.login.refused", #""no", lines.login.type = "login""#) {
      ($0.lines.login.type, $0.lines.login.refused) = ("login", "no")
    },
    Change("wamp.realm", #""com.example.realm""#) { $0.wamp.realm = "com.example.realm" },
    Change("wamp.authid", #""reader""#) { $0.wamp.authID = "reader" },
    Change("wamp.invoke", #""roundrobin""#) { $0.wamp.invoke = .roundrobin },
    Change("wamp.readable_tickets", "true") { $0.wamp.readableTickets = true },
  ]

  static let secrets: [Change<UpstreamSettings>] = [
    Change("auth", #"{ b = "x\"", a = [1, 2.50, -3.0, true], c.d = {} }"#) {
      $0.auth = .inline(Array(#"{"b":"x\"","a":[1,2.5,-3.0,true],"c":{"d":{}}}"#.utf8))
    },
    Change("auth_file", #""/run/token""#) { $0.auth = .file("/run/token") },
    Change("auth_credential", #""chat.token""#) { $0.auth = .external(.credential("chat.token")) },
    Change("auth_command", #"["/bin/token", "-q", ""]"#) { $0.auth = .external(.command(["/bin/token", "-q", ""])) },
    Change("on_connect", #"[["join", { room = "ops" }]]"#) {
      $0.onConnect = [EnterMessage("join", args: Array(#"[{"room":"ops"}]"#.utf8))]
    },
    Change("headers", #"{ B = { command = ["pass", "chat"] }, A = { file = "/t", prefix = "Bearer " }, C = "c" }"#) {
      $0.headers = [HTTPHeader(name: "C", value: "c")]
      $0.headerSources = [
        SecretMember(name: "B", source: .command(["pass", "chat"])),
        SecretMember(name: "A", prefix: "Bearer ", source: .file("/t")),
      ]
    },
    Change("query", #"{ z = { credential = "key" }, a = "1", y = { file = "/y" } }"#) {
      $0.query = [QueryItem(name: "a", value: "1")]
      $0.querySources = [
        SecretMember(name: "y", source: .file("/y")), SecretMember(name: "z", source: .credential("key")),
      ]
    },
  ]

  @Test(arguments: tables)
  func settingOfATableLandsInItsProperty(_ change: Change<Configuration>) throws {
    var expected = Configuration()
    change.change(&expected)
    #expect(expected != Configuration())
    #expect(try configure("\(change.name) = \(change.value)").get() == expected)
  }

  @Test(arguments: upstreams)
  func settingOfDefaultsLandsInEveryUpstream(_ change: Change<UpstreamSettings>) throws {
    var expected = Configuration()
    change.change(&expected.defaults)
    expected.upstreams["a"] = upstream(change.change)
    #expect(expected.defaults != UpstreamSettings())
    let text = "defaults = { \(change.name) = \(change.value) }\nupstream.a.url = \"http://h\""
    #expect(try configure(text).get() == expected)
  }

  @Test(arguments: upstreams + secrets)
  func settingOfAnUpstreamLandsInThatUpstreamAlone(_ change: Change<UpstreamSettings>) throws {
    var expected = Configuration()
    expected.upstreams["a"] = upstream(change.change)
    expected.upstreams["b"] = upstream()
    let url = Self.url(for: change.name)
    expected.upstreams["a"]?.url = try CurlURLReader().read(url)
    let text = "[upstream]\na = { url = \"\(url)\", \(change.name) = \(change.value) }\nb.url = \"http://h\""
    #expect(try configure(text).get() == expected)
  }

  /// Of an upstream to which the setting means something.
  private static func url(for name: String) -> String {
    switch name.prefix(while: { $0 != "." }) {
    case "heartbeat", "websocket": "raw+ws://h"
    case "lines": "tcp://h:1"
    case "wamp": "wamp+ws://h/#com.example.realm"
    default: "http://h"
    }
  }

  /// A new setting cannot be forgotten here. The settings of access rules have tests of their own.
  @Test func everyDeclaredSettingIsTested() {
    let tables = Self.tables.map(\.name) + Self.upstreams.map { "defaults.\($0.name)" }
    #expect(Set(tables) == Set(ConfigurationSchema.tables.settings.map(\.name)))
    let upstreams = (Self.upstreams + Self.secrets).map(\.name) + ["url", "fleet"]
    #expect(Set(upstreams) == Set(ConfigurationSchema.upstream.settings.map(\.name)))
  }
}
