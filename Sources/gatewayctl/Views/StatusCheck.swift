import GatewayCore

/// The `status` result as one line for a monitoring system, in the form of a Nagios plug-in.
struct StatusCheck: Equatable {
  /// In the order of their severity.
  enum Verdict: Int, Comparable {
    case fine, unknown, warning, critical

    /// As the line begins.
    var word: String { ["OK", "UNKNOWN", "WARNING", "CRITICAL"][rawValue] }

    static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }

  private(set) var verdict = Verdict.fine
  /// What is not fine, the worst first.
  private var findings: [(verdict: Verdict, text: String)] = []
  private var connected = 0
  private var down = 0
  private var queued = 0
  /// From when on a connection that is down is critical, in milliseconds.
  private let maxDown: Int64
  /// Milliseconds since 1970.
  private let now: Int64

  init(now: Int64, maxDown: Duration) { (self.now, self.maxDown) = (now, maxDown.milliseconds) }

  static func == (a: Self, b: Self) -> Bool { a.line == b.line }

  /// Reasons that no upstream is to be blamed for: no program waits for it.
  private static let harmless: Set<String> = ["idle"]
  /// Reasons that an administrator has given.
  private static let ordered: Set<String> = ["requested", "draining"]

  /// Which connections were asked for.
  enum Asked {
    /// All that there are.
    case all
    /// Those of a configured upstream, by its name alone.
    case upstream
    /// Just these, by URL or with their namespace.
    case these
  }

  /// Judges the connections of a `status`: those of the configuration, and others. What a user has chosen, by URL or by
  /// a namespace that the configuration does not name, is a warning at most, unless it was asked for.
  mutating func judge(connections document: JSONValue, asked: Asked) {
    let connections = document["connections"]?.elements ?? []
    let (links, uses) = (Self.byPlace(connections, "holder"), Self.byPlace(connections, "follower"))
    for connection in connections {
      let place = Self.place(connection)
      switch Self.role(connection) {
      case "follower":
        // Both say the same: the link says it, and why.
        if let link = links[place], Self.standing(link) == Self.standing(connection) {
          queued += Self.waiting(connection)
        } else {
          judge(connection, asked: asked)
        }
      case "holder":
        // It is down since this host has it, or for as long as the programs of this host are without one: they may have
        // had that of another host, or be new here.
        let use = uses[place].flatMap { Self.standing($0) == .down ? $0 : nil }
        let downs = [connection, use].compactMap { $0?["down_since"]?.integerValue }
        judge(connection, asked: asked, downSince: downs.min())
      default: judge(connection, asked: asked)
      }
    }
    if let count = document.leftOut("connections") {
      find(.unknown, "\(count) connections did not fit into the daemon's answer")
    }
  }

  /// Judges the connections of one URL, which the sentence names as it is `shown`. Where none was ever up and no program
  /// needs one, nothing is known of the server: the URL may be mistyped, and a connection may be left of somebody who has
  /// just tried it.
  mutating func judge(connections document: JSONValue, ofURL shown: String) {
    judge(connections: document, asked: .these)
    let connections = document["connections"]?.elements ?? []
    guard connections.allSatisfy(Self.isUntold), document.leftOut("connections") == nil else { return }
    find(
      .unknown,
      "no program uses \(shown); check the URL and what was given with it, or make it an upstream of the configuration with keep = \"always\""
    )
  }

  /// Judges what a `status` says of the daemon itself.
  mutating func judge(daemon document: JSONValue) {
    let daemon = document["daemon"] ?? .null
    if daemon["state"]?.stringValue == "draining" { find(.warning, "the daemon takes no new work") }
    let outbox = daemon["outbox"] ?? .null
    let detail = outbox["detail"]?.stringValue.map { ": \($0)" } ?? ""
    switch outbox["state"]?.stringValue {
    case "failing": find(.critical, "the outbox cannot write\(detail)")
    case "unavailable": find(.warning, "there is no outbox\(detail)")
    default: if let warning = outbox["warning"]?.stringValue { find(.warning, "outbox: \(warning)") }
    }
    if let fleet = daemon["fleet"] { judge(fleet: fleet) }
  }

  /// What cannot be used because of it is down, and judged as such.
  private mutating func judge(fleet: JSONValue) {
    let redis = fleet["redis"] ?? .null
    if let state = redis["state"]?.stringValue, state != "working" {
      let why = [redis["reason"], redis["detail"]].compactMap { $0?.stringValue }.joined(separator: ": ")
      find(
        .warning,
        "the fleet's Redis is \(state)\(why.isEmpty ? "" : " (\(why))"); 'gatewayctl doctor' of an upstream of the fleet says what to do"
      )
    } else if let warning = redis["warning"]?.stringValue {
      find(.warning, "the fleet's Redis: \(warning)")
    }
    if let warning = fleet["warning"]?.stringValue { find(.warning, "fleet: \(warning)") }
  }

  /// Something else that is not fine.
  mutating func find(_ verdict: Verdict, _ text: String) {
    self.verdict = max(self.verdict, verdict)
    findings.append((verdict, text))
  }

  // MARK: - Connections

  /// What an upstream is called, and its namespace.
  private struct Place: Hashable {
    var upstream: String?
    var namespace: String?
  }

  private static func place(_ connection: JSONValue) -> Place {
    Place(upstream: connection["upstream"]?.stringValue, namespace: connection["namespace"]?.stringValue)
  }

  /// What it is to a fleet; nil for one that has to do with none.
  private static func role(_ connection: JSONValue) -> String? { connection["fleet"]?["role"]?.stringValue }

  private static func byPlace(_ connections: [JSONValue], _ role: String) -> [Place: JSONValue] {
    let found = connections.filter { Self.role($0) == role }
    return Dictionary(found.map { (place($0), $0) }) { first, _ in first }
  }

  private enum Standing { case up, unneeded, down }

  private static func standing(_ connection: JSONValue) -> Standing {
    guard connection["state"]?.stringValue != "connected" else { return .up }
    let reason = connection["reason"]?.stringValue ?? ""
    if harmless.contains(reason) { return .unneeded }
    return connection["needed"]?.boolValue == false && !ordered.contains(reason) ? .unneeded : .down
  }

  /// Nothing needs it, and it has never been up.
  private static func isUntold(_ connection: JSONValue) -> Bool {
    standing(connection) == .unneeded && connection["last_connected"]?.integerValue == nil
  }

  /// What was given to a fleet is written only when its holder has said so.
  private static func waiting(_ connection: JSONValue) -> Int {
    let given = connection["fleet"]?["unconfirmed"]?.integerValue ?? 0
    return (connection["queue"]?["count"]?.integerValue ?? 0) + given
  }

  /// `downSince`: where it is known better than the connection has it.
  private mutating func judge(_ connection: JSONValue, asked: Asked, downSince: Int? = nil) {
    queued += Self.waiting(connection)
    switch Self.standing(connection) {
    case .up: connected += 1
    case .unneeded: break
    case .down:
      down += 1
      judge(down: connection, asked: asked, since: downSince ?? connection["down_since"]?.integerValue)
    }
  }

  private mutating func judge(down connection: JSONValue, asked: Asked, since: Int?) {
    let reason = connection["reason"]?.stringValue
    let since = since.map { max(0, now &- Int64($0)) }
    let span = since ?? 0
    let upstream = connection["upstream"]?.stringValue
    let chosen = Self.chosenNamespace(connection)
    let name = (upstream ?? connection["url"]?.stringValue ?? "?") + (chosen.map { " \($0)" } ?? "")
    let detail = connection["detail"]?.stringValue.map { ": \($0)" } ?? ""
    let why = reason.map { " (\($0)\(detail))" } ?? ""
    let isOwn =
      switch asked {
      case .all: upstream != nil && chosen == nil
      case .upstream: chosen == nil
      case .these: true
      }
    let isLong = isOwn && span >= maxDown && !Self.ordered.contains(reason ?? "")
    let words = Self.words(ofState: connection["state"]?.stringValue, downFor: since)
    find(isLong ? .critical : .warning, "\(name) \(words)\(why)")
  }

  /// The namespace of a configured upstream, where programs have named it: one can only where the URL of the upstream
  /// has no path, which would be its own.
  private static func chosenNamespace(_ connection: JSONValue) -> String? {
    guard connection["upstream"]?.stringValue != nil, let url = connection["url"]?.stringValue,
      let scheme = url.firstRange(ofText: "://"),
      let namespace = connection["namespace"]?.stringValue, namespace != "/"
    else { return nil }
    let path = url[scheme.upperBound...].drop { $0 != "/" && $0 != "?" }.prefix { $0 != "?" }
    return path.isEmpty || path == "/" ? namespace : nil
  }

  /// `is down for 7 min`; of a connection whose first attempt is under way, or that was lost just now, without nonsense.
  private static func words(ofState state: String?, downFor span: Int64?) -> String {
    let time = span.flatMap { $0 > 0 ? DurationText.describe(milliseconds: $0) : nil }
    guard state != "created" else { return "is not connected yet" + (time.map { " after \($0)" } ?? "") }
    return "is down" + (time.map { " for \($0)" } ?? "")
  }

  /// One line without its end: the verdict, why, and numbers behind a bar.
  var line: String {
    let worst = findings.sorted { $0.verdict > $1.verdict }.map(\.text)
    let text = worst.isEmpty ? "\(connected) connected, none down" : worst.joined(separator: "; ")
    let plain = TextWidth.escaped(text).replacing("|", by: "/")
    return "GATEWAYD \(verdict.word): \(plain) | connected=\(connected) down=\(down) queued=\(queued)"
  }
}
