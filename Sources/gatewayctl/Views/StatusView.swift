import GatewayCore

/// The `status` result for a person.
struct StatusView {
  let document: JSONValue
  /// Milliseconds since 1970.
  let now: Int64
  let palette: Palette
  /// Columns of the terminal; nil: as wide as it gets.
  var width: Int?

  /// The daemon, its connections and its clients.
  func everything() -> String {
    var text = daemon() + "\n" + connections()
    if !members("clients").isEmpty { text += "\n" + clients() }
    return text
  }

  /// One line about the daemon.
  private func daemon() -> String {
    let daemon = document["daemon"] ?? .null
    let state = daemon["state"]?.stringValue ?? "?"
    var parts = [Table.Cell("gatewayd \(daemon["version"]?.stringValue ?? "?")", .heading)]
    parts.append(.init(state, state == "running" ? .good : .waiting))
    if let uptime = daemon["uptime"]?.integerValue { parts.append(.init("up \(span(uptime))")) }
    if let pid = daemon["pid"]?.integerValue { parts.append(.init("pid \(pid)")) }
    if let rss = daemon["rss"]?.integerValue { parts.append(.init(size(rss))) }
    if let turn = daemon["longest_turn"]?.integerValue {
      parts.append(.init("longest delay \(tenths(Double(turn) / 1_000)) ms"))
    }
    return palette.list(parts, width: width) + outbox(daemon["outbox"]) + fleet(daemon["fleet"])
  }

  /// A sentence on as many lines as it needs.
  private func sentence(_ text: String, _ role: Palette.Role? = nil) -> String {
    let text = TextWidth.escaped(text)
    let lines = width.map { TextWidth.lines(of: text, width: $0) } ?? [text]
    return lines.map { palette.paint($0, role) + "\n" }.joined()
  }

  /// What is wrong with the outbox, on a line of its own; nothing while all is well.
  private func outbox(_ outbox: JSONValue?) -> String {
    if let state = outbox?["state"]?.stringValue, state != "working" {
      let detail = outbox?["detail"]?.stringValue.map { ": \($0)" } ?? ""
      return sentence("outbox \(state)\(detail)", .bad)
    }
    guard let warning = outbox?["warning"]?.stringValue else { return "" }
    return sentence("outbox: \(warning)", .waiting)
  }

  /// What is wrong with the fleet, in lines of its own; nothing while all is well.
  private func fleet(_ fleet: JSONValue?) -> String {
    guard let fleet else { return "" }
    let redis = fleet["redis"] ?? .null
    let name = "fleet \(fleet["name"]?.stringValue ?? "?"): "
    var text = ""
    if let state = redis["state"]?.stringValue, state != "working" {
      let detail = redis["detail"]?.stringValue.map { ": \($0)" } ?? ""
      text += sentence(name + FleetView.server(redis).text + detail, .bad)
    }
    for warning in [redis["warning"], fleet["warning"]].compactMap({ $0?.stringValue }) {
      text += sentence(name + warning, .waiting)
    }
    return text
  }

  // MARK: Connections

  /// The table of connections; below each that is not connected, why. `target` is the upstream that was asked for
  /// alone: the daemon has answered, and so it is a URL, or a name in its configuration. Others may use it all the
  /// same, in another namespace or by connections of their own.
  func connections(of target: String? = nil) -> String {
    var table = Table(
      ["UPSTREAM", "URL", "STATE", "FOR", "USED BY", "WAITING", "IN", "OUT", "PING", "TRANSPORT"],
      elastic: ["UPSTREAM", "URL"],
      expendable: ["TRANSPORT", "PING", "OUT", "IN", "USED BY", "WAITING", "FOR"])
    for connection in members("connections") { table.add(cells(connection), notes: notes(connection)) }
    return (table.isEmpty ? none(of: target) : table.text(palette, width: width)) + rest("connections")
  }

  private func none(of target: String?) -> String {
    guard let target else { return sentence("no connections: nobody uses an upstream") }
    let subject = target.contains(text: "://") ? "" : "'\(target)' is configured; "
    return sentence("\(subject)no connection in this namespace; its first use makes one")
  }

  private func cells(_ connection: JSONValue) -> [Table.Cell] {
    let state = connection["state"]?.stringValue ?? "?"
    let mark = Self.mark(ofRole: connection["fleet"]?["role"])
    return [
      .init((connection["upstream"]?.stringValue ?? "-") + mark), .init(address(connection)),
      .init(state, Self.role(ofState: state)),
      .init(since(connection, "down_since")), .init(number(connection["leases"])),
      .init(number(connection["queue"]?["count"])),
      .init(number(connection["in"]?["events"])), .init(number(connection["out"]?["events"])),
      .init(connection["rtt"]?.doubleValue.map { "\(tenths($0)) ms" } ?? "-"),
      .init(connection["transport"]?.stringValue ?? "-"),
    ]
  }

  /// The URL and, where its path does not say so already, the namespace.
  private func address(_ connection: JSONValue) -> String {
    let url = connection["url"]?.stringValue ?? "?"
    let namespace = connection["namespace"]?.stringValue ?? "/"
    let place = url.prefix { $0 != "?" && $0 != "#" }
    return namespace == "/" || place.hasSuffix(namespace) ? url : "\(url) \(namespace)"
  }

  private func notes(_ connection: JSONValue) -> [Table.Cell] {
    var notes: [Table.Cell] = []
    if let reason = connection["reason"]?.stringValue {
      let detail = connection["detail"]?.stringValue.map { ": \($0)" } ?? ""
      let status = connection["status"]?.integerValue.map { " (status \($0))" } ?? ""
      notes.append(.init("\(reason)\(detail)\(status)", Self.harmless.contains(reason) ? .faint : .bad))
    }
    var plan: [String] = []
    if let next = connection["next"]?.integerValue {
      let attempt = connection["attempt"]?.integerValue.map { "attempt \($0 + 1)" } ?? "next attempt"
      plan.append(next > 0 ? "\(attempt) in \(span(next))" : "\(attempt) now")
    }
    // What is said of an attempt that is planned repeats its reason and its number.
    if plan.isEmpty, connection["state"]?.stringValue != "connected", let why = connection["why"]?.stringValue {
      plan.append(why)
    }
    if !plan.isEmpty { notes.append(.init(plan.joined(separator: "; "), .faint)) }
    if connection["verified"]?.boolValue == false { notes.append(.init("the certificate is not verified", .waiting)) }
    if let clock = clock(connection["time"]) { notes.append(.init(clock, .faint)) }
    return notes + fleetNotes(connection)
  }

  /// What to know about the time of the events, where it is not this machine's.
  private func clock(_ time: JSONValue?) -> String? {
    guard time?["followed"]?.boolValue == true, let offset = time?["offset"]?.integerValue,
      let error = time?["error"]?.integerValue
    else { return nil }
    let distance = span(Int(clamping: offset.magnitude))
    return "events have the server's time, \(distance) \(offset < 0 ? "behind" : "ahead of") this machine's"
      + " (give or take \(span(error)))"
  }

  /// Reasons that a user or an administrator wanted.
  private static let harmless: Set<String> = ["idle", "requested", "draining"]

  /// How the state of a connection is coloured.
  static func role(ofState state: String) -> Palette.Role {
    switch state {
    case "connected": .good
    case "created", "reconnecting": .waiting
    default: .bad
    }
  }

  // MARK: Clients

  /// The clients alone.
  func clients() -> String {
    var table = Table(
      ["CLIENT", "NAME", "UID", "PID", "FOR", "SUBS", "CALLS", "UNREAD", "DROPPED"], elastic: ["NAME"],
      expendable: ["UID", "CALLS", "SUBS", "UNREAD", "FOR", "DROPPED", "PID"])
    for client in members("clients") {
      let dropped = client["dropped"]?.integerValue ?? 0
      table.add([
        .init(client["client"]?.stringValue ?? "?"), .init(client["name"]?.stringValue ?? "-"),
        .init(number(client["uid"])), .init(number(client["pid"])), .init(since(client)),
        .init(number(client["subscriptions"])), .init(number(client["requests"])),
        .init(number(client["queue"]?["count"])), .init("\(dropped)", dropped > 0 ? .waiting : nil),
      ])
    }
    return (table.isEmpty ? "no clients\n" : table.text(palette, width: width))
      + rest("clients")
  }

  /// How many did not fit into the daemon's answer.
  private func rest(_ list: String) -> String {
    guard let count = document.leftOut(list) else { return "" }
    return sentence("… and \(count) \(list) more, which did not fit into one answer", .waiting)
  }

  // MARK: Values

  private func members(_ key: String) -> [JSONValue] { document[key]?.elements ?? [] }

  private func number(_ value: JSONValue?) -> String { value?.integerValue.map(String.init) ?? "-" }

  /// For how long it is as it is; where the daemon tells since when something lasts over attempts, that.
  private func since(_ value: JSONValue, _ preferred: String = "since") -> String {
    let since = value[preferred]?.integerValue ?? value["since"]?.integerValue
    return since.map { span(Int(clamping: now &- Int64($0))) } ?? "-"
  }

  private func span(_ milliseconds: Int) -> String { DurationText.describe(milliseconds: Int64(milliseconds)) }

  private func tenths(_ value: Double) -> String {
    guard value.isFinite, abs(value) < 1e12 else { return "?" }
    return "\((value * 10).rounded() / 10)"
  }

  private func size(_ bytes: Int) -> String { "\(tenths(Double(bytes) / 1_048_576)) MiB" }
}

extension JSONValue {
  /// How many of a list did not fit into the daemon's answer; nil when all did. An answer with one list has one number.
  func leftOut(_ list: String) -> Int? {
    let left = self["left_out"]
    guard let count = (left?[list] ?? left)?.integerValue, count > 0 else { return nil }
    return count
  }
}
