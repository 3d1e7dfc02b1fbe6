import GatewayCore

/// The `fleet.list` result for a person.
struct FleetView {
  let document: JSONValue
  /// Milliseconds since 1970.
  let now: Int64
  let palette: Palette
  /// Columns of the terminal; nil: as wide as it gets.
  var width: Int?

  /// The fleet and its server, its hosts, and its upstreams.
  var text: String { head() + "\n" + hosts() + "\n" + upstreams() }

  /// Whether what is shown is how it is now.
  private var isReached: Bool { document["redis"]?["state"]?.stringValue != "unreachable" }

  private func head() -> String {
    let redis = document["redis"] ?? .null
    var parts = [Table.Cell("fleet \(document["name"]?.stringValue ?? "?")", .heading)]
    parts.append(.init("this host is \(document["host"]?.stringValue ?? "?")"))
    parts.append(Self.server(redis))
    var text = palette.list(parts, width: width)
    if let detail = redis["detail"]?.stringValue { text += sentence(detail, .bad) }
    if !isReached { text += sentence("what follows was seen last", .waiting) }
    if let warning = document["warning"]?.stringValue { text += sentence(warning, .waiting) }
    return text
  }

  /// `Redis r1.example:6379, 0.4 ms`, or what is wrong with it.
  static func server(_ redis: JSONValue) -> Table.Cell {
    let state = redis["state"]?.stringValue ?? "?"
    let place = redis["server"]?.stringValue.map { " \($0)" } ?? ""
    guard state == "working" else { return .init("Redis\(place) is \(state)", .bad) }
    let time = redis["rtt"]?.doubleValue.map { ", \(($0 * 10).rounded() / 10) ms" } ?? ""
    return .init("Redis\(place)\(time)", .good)
  }

  /// A sentence on as many lines as it needs.
  private func sentence(_ text: String, _ role: Palette.Role? = nil) -> String {
    let text = TextWidth.escaped(text)
    let lines = width.map { TextWidth.lines(of: text, width: $0) } ?? [text]
    return lines.map { palette.paint($0, role) + "\n" }.joined()
  }

  private func hosts() -> String {
    var table = Table(
      ["HOST", "STATE", "HEARD", "MAY HOLD", "HAS", "VERSION"], elastic: ["HOST", "HAS"],
      expendable: ["VERSION", "HEARD", "MAY HOLD", "HAS"])
    for host in document["hosts"]?.elements ?? [] {
      let upstreams = host["upstreams"]?.elements ?? []
      let held = upstreams.filter { $0["holds"]?.boolValue == true }.map(name)
      let notes = upstreams.compactMap(difference)
      table.add(
        [
          .init(host["host"]?.stringValue ?? "?"), state(host),
          .init(host["here"]?.boolValue == true ? "-" : host["heard"]?.integerValue.map(span) ?? "-"),
          .init(host["may_hold"]?.boolValue == true ? "yes" : "no"),
          .init(held.isEmpty ? "-" : held.joined(separator: " ")), .init(host["version"]?.stringValue ?? "-"),
        ], notes: notes)
    }
    return (table.isEmpty ? sentence("no hosts are known") : table.text(palette, width: width)) + rest("hosts")
  }

  private func state(_ host: JSONValue) -> Table.Cell {
    if host["here"]?.boolValue == true { return .init("here", .good) }
    if host["stopped"]?.boolValue == true { return .init("stopped", .waiting) }
    switch host["alive"]?.boolValue {
    case true?: return .init("alive", .good)
    case false?: return .init("silent", .bad)
    case nil: return .init("unknown", .waiting)
    }
  }

  private func difference(_ upstream: JSONValue) -> Table.Cell? {
    let names = upstream["differs"]?.elements?.compactMap(\.stringValue) ?? []
    guard !names.isEmpty else { return nil }
    let section = "upstream.\(upstream["upstream"]?.stringValue ?? "?")"
    let settings = names.map { $0.contains(".") ? $0 : "\(section).\($0)" }
    return .init("has \(settings.joined(separator: ", ")) otherwise than the holder", .bad)
  }

  private func upstreams() -> String {
    var table = Table(
      ["UPSTREAM", "HOLDER", "FOR", "TERM", "LINK", "EPOCH", "HOSTS"],
      elastic: ["UPSTREAM", "HOLDER", "EPOCH"],
      expendable: ["EPOCH", "TERM", "HOSTS", "FOR", "LINK"])
    for upstream in document["upstreams"]?.elements ?? [] {
      let isOpen = upstream["open"]?.boolValue == true
      let since = upstream["since"]?.integerValue.map { span(Int(clamping: max(0, now &- Int64($0)))) }
      let holder = upstream["holder"]?.stringValue
      var notes: [Table.Cell] = []
      if let objection = upstream["objection"]?.stringValue { notes.append(.init(objection, .bad)) }
      if let reason = upstream["reason"]?.stringValue, !isOpen {
        let detail = upstream["detail"]?.stringValue.map { ": \($0)" } ?? ""
        notes.append(.init("\(holder ?? "it") is not connected to the server: \(reason)\(detail)", .bad))
      }
      if let next = upstream["next"]?.stringValue {
        notes.append(.init(next == "*" ? "another host is to take it" : "\(next) is to take it", .waiting))
      }
      table.add(
        [
          .init(name(upstream)), .init(holder ?? "none", holder == nil ? .waiting : nil),
          .init(holder == nil ? "-" : since ?? "-"), .init(number(upstream["term"])),
          .init(isOpen ? "up" : "down", !isReached ? .waiting : isOpen ? .good : .bad),
          .init(upstream["epoch"]?.stringValue ?? "-"),
          .init(number(upstream["hosts"])),
        ], notes: notes)
    }
    return (table.isEmpty ? sentence("no upstream of yours is shared") : table.text(palette, width: width))
      + rest("upstreams")
  }

  /// How many did not fit into the daemon's answer.
  private func rest(_ list: String) -> String {
    guard let count = document.leftOut(list) else { return "" }
    return sentence("… and \(count) \(list) more, which did not fit into one answer", .waiting)
  }

  private func name(_ upstream: JSONValue) -> String {
    let name = upstream["upstream"]?.stringValue ?? "?"
    let namespace = upstream["namespace"]?.stringValue ?? "/"
    return namespace == "/" ? name : name + namespace
  }

  private func number(_ value: JSONValue?) -> String { value?.integerValue.map(String.init) ?? "-" }
  private func span(_ milliseconds: Int) -> String { DurationText.describe(milliseconds: Int64(milliseconds)) }
}

extension StatusView {
  /// What stands behind the name of an upstream, by the `role` of a connection: what this host's programs use has the
  /// same name as the link that it holds for its fleet.
  static func mark(ofRole role: JSONValue?) -> String { role?.stringValue == "holder" ? " (link)" : "" }

  /// What `fleet` of a connection says, in lines below it.
  func fleetNotes(_ connection: JSONValue) -> [Table.Cell] {
    guard let fleet = connection["fleet"], fleet["role"]?.stringValue != nil else { return [] }
    let redis = fleet["redis"] ?? .null
    let holder = fleet["holder"]?.stringValue
    var parts: [String] = []
    if fleet["holds"]?.boolValue ?? (fleet["role"]?.stringValue == "holder") {
      parts.append("this host has the fleet's link")
    } else if let holder, holder == fleet["host"]?.stringValue {
      parts.append("this host had the fleet's link last, and may not write")
    } else {
      let isSeenNow = redis["state"]?.stringValue != "unreachable"
      let verb = isSeenNow ? "is" : "was last seen"
      parts.append(
        holder.map { "the fleet's link \(verb) at \($0)" }
          ?? (isSeenNow ? "no host has the fleet's link" : "it is not known which host has the fleet's link"))
    }
    parts.append("term \(fleet["term"]?.integerValue ?? 0)")
    if let hosts = fleet["hosts"]?.integerValue { parts.append(hosts == 1 ? "1 host" : "\(hosts) hosts") }
    for (member, words) in [("behind", "events behind"), ("unconfirmed", "unconfirmed"), ("carried", "carried")] {
      if let count = fleet[member]?.integerValue, count > 0 { parts.append("\(count) \(words)") }
    }
    let server = FleetView.server(redis)
    if redis["state"]?.stringValue == "working" { parts.append(server.text) }
    var notes = [Table.Cell(parts.joined(separator: "; "), .faint)]
    if redis["state"]?.stringValue != "working" {
      notes.append(.init(server.text + (redis["detail"]?.stringValue.map { ": \($0)" } ?? ""), .bad))
    }
    if let warning = fleet["warning"]?.stringValue { notes.append(.init(warning, .waiting)) }
    return notes
  }
}
