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
    Change("limits.send_queue_bytes", #""3GiB""#) { $0.limits.sendQueueBytes = 3 << 30 },
    Change("limits.connections", "23") { $0.limits.connections = 23 },
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
    Change("transports", #"["websocket"]"#) { $0.transports = [.websocket] },
    Change("keep", #""always""#) { $0.keep = .always },
    Change("linger", #""0s""#) { $0.linger = .zero },
    Change("retain", #""5m""#) { $0.retain = .seconds(300) },
    Change("ttl", #""2h""#) { $0.ttl = .seconds(7_200) },
    Change("flush", "12") { $0.flush = 12 },
    Change("handshake", #""11s""#) { $0.handshake = .seconds(11) },
    Change("reconnect_after_kick", "false") { $0.reconnectAfterKick = false },
    Change("attachments", "11") { $0.attachments = 11 },
    Change("message_limit", #""1GiB""#) { $0.messageLimit = 1 << 30 },
    Change("tls.ca", #""/ca""#) { $0.tls.ca = "/ca" },
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
    Change("reconnect.base", #""2s""#) { $0.reconnect.base = .seconds(2) },
    Change("reconnect.cap", #""40s""#) { $0.reconnect.cap = .seconds(40) },
    Change("reconnect.stable", #""3s""#) { $0.reconnect.stable = .seconds(3) },
    Change("reconnect.refused_base", #""31s""#) { $0.reconnect.refusedBase = .seconds(31) },
    Change("reconnect.refused_cap", #""11m""#) { $0.reconnect.refusedCap = .seconds(660) },
  ]

  static let secrets: [Change<UpstreamSettings>] = [
    Change("auth", #"{ b = "x\"", a = [1, 2.50, -3.0, true], c.d = {} }"#) {
      $0.auth = .inline(Array(#"{"b":"x\"","a":[1,2.5,-3.0,true],"c":{"d":{}}}"#.utf8))
    },
    Change("auth_file", #""/run/token""#) { $0.auth = .file("/run/token") },
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
    let text = "[upstream]\na = { url = \"http://h\", \(change.name) = \(change.value) }\nb.url = \"http://h\""
    #expect(try configure(text).get() == expected)
  }

  /// A new setting cannot be forgotten here. The settings of access rules have tests of their own.
  @Test func everyDeclaredSettingIsTested() {
    let tables = Self.tables.map(\.name) + Self.upstreams.map { "defaults.\($0.name)" }
    #expect(Set(tables) == Set(ConfigurationSchema.tables.settings.map(\.name)))
    let upstreams = (Self.upstreams + Self.secrets).map(\.name) + ["url", "auth_command"]
    #expect(Set(upstreams) == Set(ConfigurationSchema.upstream.settings.map(\.name)))
  }
}
