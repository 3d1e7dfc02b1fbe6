/// What the user of a host has to be let do at the Redis of its fleet: each command on each key, those that only
/// scripts use as well, in a form that changes nothing. Redis looks whether a user may before it looks whether what is
/// asked makes sense.
struct FleetRights: Equatable, Sendable {
  /// One command, on one key where it has one.
  struct Trial: Equatable, Sendable {
    /// As it stands behind the `+` of a rule, such as `xinfo|stream`.
    let command: String
    let key: FleetKey?
    /// What is asked.
    let words: [String]

    fileprivate init(_ command: String, on key: FleetKey? = nil, before: [String] = [], after: [String] = []) {
      (self.command, self.key) = (command, key)
      words = Self.words(of: command) + before + (key.map { [$0.text] } ?? []) + after
    }

    /// As people read it.
    fileprivate var name: String { Self.words(of: command).joined(separator: " ") }

    private static func words(of command: String) -> [String] {
      command.uppercased().split(separator: "|").map { String($0) }
    }
  }

  /// A trial that Redis has refused.
  struct Denial: Equatable, Sendable {
    let trial: Trial
    /// The user may use the command, and not on this key.
    let isOfKey: Bool

    /// Nil for an error that is no denial.
    init?(of trial: Trial, _ error: RedisError) {
      guard case .refused(.forbidden(let words)) = error.meaning else { return nil }
      (self.trial, isOfKey) = (trial, trial.key != nil && !words.contains(text: "permissions to run"))
    }
  }

  let place: FleetPlace
  let host: String
  var mayHold: Bool
  /// Another host of the fleet, whose keys the one that holds changes; nil where none is known.
  var other: String?
  /// Replicas have to confirm what is to last.
  var waits = false

  /// Of `HGETALL` and `HKEYS` the command alone is tried, on a table that is short, and of the others' keys `HMGET`.
  var trials: [Trial] {
    let (lease, events, up) = (key(.lease), key(.events), key(.up))
    let all = [host] + (mayHold ? [other].compactMap { $0 } : [])
    let replies = all.map { key(.replies(host: $0)) }
    let boxes = all.map { key(.box(host: $0)) }
    let read = [key(.hosts)] + boxes + [key(.adopted)]
    let tables = mayHold ? read + [lease] : [key(.hosts)] + boxes
    let scripts = mayHold ? tables + replies + [events, up] : tables
    var trials = [Trial("ping"), Trial("client|unblock", after: ["0"])]
    trials += each("eval", scripts, before: ["return 1", "1"])
    // A script that no server knows.
    trials += each("evalsha", scripts, before: [String(repeating: "0", count: 40), "1"])
    trials += each("hgetall", [lease]) + each("hkeys", [lease])
    trials += each("hmget", [lease] + read, after: ["x"]) + each("hstrlen", read, after: ["x"])
    trials += each("hget", tables, after: ["x"]) + each("hdel", tables, after: [""])
    // A name without a value.
    trials += each("hset", tables, after: ["x", "x", "x"])
    trials += each("xrevrange", [events], after: ["+", "-", "COUNT", "1"])
    trials += each(
      "xread", [events, replies[0]] + (mayHold ? [up] : []), before: ["COUNT", "1", "STREAMS"], after: ["$"])
    // A place that no stream takes.
    trials += each("xadd", [up] + (mayHold ? [events] + replies : []), after: ["0-0", "op", "doctor"])
    trials += each("xtrim", [replies[0]] + (mayHold ? [events, up] : []), after: ["MINID", "~", "0"])
    if waits { trials.append(Trial("wait", after: ["0", "1"])) }
    guard mayHold else { return trials }
    // No number.
    trials += each("hincrby", [lease], after: ["x", "x"]) + each("hexists", boxes, after: ["x"])
    trials += each("exists", [events, up]) + each("xinfo|stream", [events, up])
    return trials
  }

  private func key(_ part: FleetKey.Part) -> FleetKey { place.key(part) }

  private func each(
    _ command: String, _ keys: [FleetKey], before: [String] = [], after: [String] = []
  ) -> [Trial] {
    keys.map { Trial(command, on: $0, before: before, after: after) }
  }

  // MARK: - What is missing

  /// Whether a host that never holds would miss nothing of it, and one that may could not even take the lease.
  func areOfHolderAlone(_ denials: [Denial]) -> Bool {
    let lease = key(.lease)
    guard mayHold, denials.contains(where: { $0.trial.command == "hset" && $0.trial.key == lease }) else {
      return false
    }
    var humble = self
    humble.mayHold = false
    let needed = humble.trials
    return !denials.contains { needed.contains($0.trial) }
  }

  /// Each command with its keys, in a clause.
  static func names(of denials: [Denial]) -> String {
    var names: [(command: String, keys: [String])] = []
    for denial in denials {
      let keys = denial.trial.key.map { [$0.text] } ?? []
      if let at = names.firstIndex(where: { $0.command == denial.trial.name }) {
        names[at].keys += keys
      } else {
        names.append((denial.trial.name, keys))
      }
    }
    return names.map { ([$0.command] + $0.keys).joined(separator: " ") }.joined(separator: ", ")
  }

  /// What stands behind `ACL SETUSER USER` to give what is missing, as docs/fleet.md has it.
  /// - Parameter tellsAccess: the server lets keys be read that may not be written, as from Redis 7.0 on.
  func rules(for denials: [Denial], tellsAccess: Bool) -> [String] {
    var rules: [String] = []
    for denial in denials {
      guard denial.isOfKey, let key = denial.trial.key else { continue }
      let rule = rule(of: key, tellsAccess)
      if !rules.contains(rule) { rules.append(rule) }
    }
    for denial in denials where !denial.isOfKey {
      let rule = "+\(denial.trial.command)"
      if !rules.contains(rule) { rules.append(rule) }
    }
    return rules
  }

  private func rule(of key: FleetKey, _ tellsAccess: Bool) -> String {
    guard !mayHold else { return "~gw:\(place.fleet):*" }
    let access =
      switch key.part {
      case .lease, .events, .adopted: "%R~"
      case .up: "%W~"
      case .hosts, .replies, .box: "~"
      }
    return (tellsAccess ? access : "~") + key.text
  }
}
