import GatewayCore

/// One page of `top`: what the daemon's statistics say, and how they have changed since the page before.
struct TopView {
  /// What the table is sorted by. The raw value is the key that chooses it.
  enum Order: Character, CaseIterable, Sendable {
    case name = "n"
    case received = "i"
    case sent = "o"
    case ping = "p"
    case waiting = "w"
    case history = "h"
    case reconnects = "r"
    case subscriptions = "s"

    /// As the line of keys names it.
    var title: String {
      switch self {
      case .name: "name"
      case .received: "in"
      case .sent: "out"
      case .ping: "ping"
      case .waiting: "waiting"
      case .history: "history"
      case .reconnects: "reconnects"
      case .subscriptions: "subs"
      }
    }
  }

  /// The answer to `stats`.
  let stats: JSONValue
  /// The one before; nil on the first page, and where another daemon gave it.
  let before: JSONValue?
  /// The answer to `status`, which knows pings and histories; nil where it was not asked for.
  let status: JSONValue?
  let palette: Palette
  var width: Int?
  var order = Order.name

  init(
    stats: JSONValue, before: JSONValue?, status: JSONValue?, palette: Palette, width: Int?, order: Order = .name
  ) {
    let instance = { (document: JSONValue) in document["daemon"]?["instance"]?.stringValue }
    self.stats = stats
    self.before = before.flatMap { instance($0) == instance(stats) ? $0 : nil }
    self.status = status
    self.palette = palette
    self.width = width
    self.order = order
  }

  // MARK: The daemon

  /// Version, times, memory and clients, on as many lines as they need.
  func header() -> String {
    let daemon = stats["daemon"] ?? .null
    var parts = [Table.Cell("gatewayd \(daemon["version"]?.stringValue ?? "?")", .heading)]
    if let uptime = daemon["uptime"]?.integerValue {
      parts.append(.init("up \(DurationText.describe(milliseconds: Int64(uptime)))"))
    }
    if let busy { parts.append(.init("busy \(Self.tenths(busy)) %", busy > 80 ? .bad : nil)) }
    if let turn = daemon["longest_turn"]?.integerValue {
      parts.append(.init("longest delay \(Self.tenths(Double(turn) / 1_000)) ms"))
    }
    if let rss = daemon["rss"]?.integerValue { parts.append(.init(Self.size(rss))) }
    if let clients = daemon["clients"]?["count"]?.integerValue {
      parts.append(.init("\(clients) client\(clients == 1 ? "" : "s")"))
    }
    let connections = connections
    parts.append(.init("\(connections.count) connection\(connections.count == 1 ? "" : "s")"))
    let down = connections.count { $0["state"]?.stringValue != "connected" }
    if down > 0 { parts.append(.init("\(down) down", .bad)) }
    let waiting = daemon["outbox"]?["queued"]?["count"]?.integerValue ?? 0
    if waiting > 0 { parts.append(.init("\(waiting) in the outbox")) }
    return palette.list(parts, width: width)
  }

  /// The percentage of the time in which the daemon was at work.
  private var busy: Double? {
    guard let seconds, let now = stats["daemon"]?["turns"]?["sum"]?.doubleValue,
      let then = before?["daemon"]?["turns"]?["sum"]?.doubleValue
    else { return nil }
    return max(0, now - then) / 10_000 / seconds
  }

  /// Since the page before.
  private var seconds: Double? {
    guard let now = stats["daemon"]?["uptime"]?.doubleValue, let then = before?["daemon"]?["uptime"]?.doubleValue,
      now > then
    else { return nil }
    return (now - then) / 1_000
  }

  // MARK: Connections

  /// A row of the table.
  struct Row: Equatable {
    /// The connection's id, which stays while its place in the table changes.
    var id: String
    /// The upstream, and the namespace where the upstream does not say it.
    var name: String
    var state: String
    /// Events per second; nil while that is not known.
    var received: Double?
    var sent: Double?
    /// Milliseconds.
    var ping: Double?
    var waiting: Int
    var history: Int?
    var reconnects: Int
    var subscriptions: Int
    var dropped: Int
  }

  private var connections: [JSONValue] { stats["connections"]?.elements ?? [] }

  /// Sorted: names upwards, figures downwards, and what is equal by name.
  func rows() -> [Row] {
    let earlier = Self.byID(before?["connections"])
    let details = Self.byID(status?["connections"])
    return connections.map { row($0, earlier, details) }.sorted { one, other in
      let (first, second) = (key(one), key(other))
      return first == second ? one.name < other.name : first > second
    }
  }

  private static func byID(_ list: JSONValue?) -> [String: JSONValue] {
    Dictionary((list?.elements ?? []).map { ($0["connection"]?.stringValue ?? "", $0) }) { first, _ in first }
  }

  private func row(_ connection: JSONValue, _ earlier: [String: JSONValue], _ details: [String: JSONValue]) -> Row {
    let id = connection["connection"]?.stringValue ?? ""
    let upstream = connection["upstream"]?.stringValue ?? connection["url"]?.stringValue ?? "?"
    let namespace = connection["namespace"]?.stringValue.flatMap { $0 == "/" || upstream.hasSuffix($0) ? nil : $0 }
    let mark = StatusView.mark(ofRole: connection["role"])
    return Row(
      id: id, name: (namespace.map { "\(upstream) \($0)" } ?? upstream) + mark,
      state: connection["state"]?.stringValue ?? "?", received: rate("in", connection, earlier[id]),
      sent: rate("out", connection, earlier[id]), ping: details[id]?["rtt"]?.doubleValue,
      waiting: connection["queue"]?["count"]?.integerValue ?? 0,
      history: details[id]?["history"]?["events"]?.integerValue,
      reconnects: connection["reconnects"]?.integerValue ?? 0,
      subscriptions: connection["subscriptions"]?.integerValue ?? 0,
      dropped: connection["dropped"]?.integerValue ?? 0)
  }

  /// A connection that was not there before began with nothing.
  private func rate(_ direction: String, _ now: JSONValue, _ then: JSONValue?) -> Double? {
    guard let seconds, let count = now[direction]?["events"]?.doubleValue else { return nil }
    return max(0, count - (then?[direction]?["events"]?.doubleValue ?? 0)) / seconds
  }

  private func key(_ row: Row) -> Double {
    switch order {
    case .name: 0
    case .received: row.received ?? -1
    case .sent: row.sent ?? -1
    case .ping: row.ping ?? -1
    case .waiting: Double(row.waiting)
    case .history: Double(row.history ?? -1)
    case .reconnects: Double(row.reconnects)
    case .subscriptions: Double(row.subscriptions)
    }
  }

  /// The table of these rows, with a mark in front of the selected one.
  func table(_ rows: some Sequence<Row>, selected: String? = nil) -> String {
    var table = Table(
      ["", "UPSTREAM", "STATE", "IN/s", "OUT/s", "PING", "QUEUE", "HISTORY", "RECONNECTS", "SUBS", "DROPPED"],
      elastic: ["UPSTREAM"],
      expendable: ["HISTORY", "RECONNECTS", "DROPPED", "SUBS", "PING", "QUEUE", "OUT/s", "IN/s"])
    for row in rows {
      table.add([
        .init(row.id == selected ? ">" : "", .heading), .init(row.name, row.id == selected ? .heading : nil),
        .init(row.state, StatusView.role(ofState: row.state)), .init(row.received.map(Self.tenths) ?? "-"),
        .init(row.sent.map(Self.tenths) ?? "-"), .init(row.ping.map { "\(Self.tenths($0)) ms" } ?? "-"),
        .init("\(row.waiting)"), .init(row.history.map(String.init) ?? "-"), .init("\(row.reconnects)"),
        .init("\(row.subscriptions)"), .init("\(row.dropped)", row.dropped > 0 ? .waiting : nil),
      ])
    }
    return table.isEmpty ? "no connections: nobody uses an upstream\n" : table.text(palette, width: width)
  }

  // MARK: Slow clients

  /// The programs that read more slowly than events come, the slowest first; nothing where all keep up.
  func slowClients(atMost count: Int) -> String {
    let slow = (status?["clients"]?.elements ?? []).filter { unread($0) > 0 || dropped($0) > 0 }
    let lines = slow.sorted { (unread($0), dropped($0)) > (unread($1), dropped($1)) }.prefix(count).map { client in
      let name = client["name"]?.stringValue ?? client["client"]?.stringValue ?? "?"
      let pid = client["pid"]?.integerValue.map { " (pid \($0))" } ?? ""
      let text = "slow: \(name)\(pid), \(unread(client)) unread, \(dropped(client)) dropped"
      return palette.paint(TextWidth.elided(TextWidth.escaped(text), to: width ?? .max), .waiting) + "\n"
    }
    return lines.joined()
  }

  private func unread(_ client: JSONValue) -> Int { client["queue"]?["count"]?.integerValue ?? 0 }

  private func dropped(_ client: JSONValue) -> Int { client["dropped"]?.integerValue ?? 0 }

  // MARK: Values

  private static func tenths(_ value: Double) -> String {
    guard value.isFinite, abs(value) < 1e12 else { return "?" }
    return "\((value * 10).rounded() / 10)"
  }

  private static func size(_ bytes: Int) -> String { "\(tenths(Double(bytes) / 1_048_576)) MiB" }
}
