/// Which server it is that a connection has reached, as it says itself.
struct RedisServer: Equatable, Sendable {
  /// Of the process.
  var run: String
  var version: String
  /// Of the connection: by it another connection ends its waiting.
  var client: Int64
  /// It is a node of a cluster.
  var isClustered = false
  /// How many are connected to it.
  var replicas = 0
  /// By what it may remove keys when its memory is full; nil where it never does.
  var eviction: String?
}

/// What is said first on a connection, and what has to come back: a login, and that the server is a master of a version
/// that will do and has its data.
struct RedisLogin: Sendable {
  enum Step: Sendable {
    case login(user: String?, password: [UInt8])
    case role, server, persistence, memory, client
    /// A node of a cluster that has not this key says which has it.
    case look(FleetKey)
  }

  /// Streams are trimmed by `MINID`, and `XADD` takes it, since then.
  static let oldestVersion = "6.2"

  /// All of them, to be said at once.
  let steps: [Step]
  private var run = ""
  private var version = ""
  private var replicas = 0
  private var isClustered = false
  private var eviction: String?
  private(set) var server: RedisServer?
  /// The login was refused. A Sentinel, which has users of its own, says all the same what it is.
  private(set) var refusal: RedisTrouble?

  /// - Parameters:
  ///   - password: may end with a line end, as files do; nil says no login.
  ///   - key: one of those that the server has to have; nil for a server that has all of them.
  init(user: String? = nil, password: [UInt8]? = nil, key: FleetKey? = nil) {
    let login = password.map { [Step.login(user: user, password: Self.withoutLineEnd($0))] } ?? []
    steps = login + [.role, .server, .persistence, .memory] + (key.map { [.look($0)] } ?? []) + [.client]
  }

  private static func withoutLineEnd(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
    return bytes
  }

  /// Takes the answer to a step; true when it was the last.
  mutating func take(_ step: Step, _ nodes: [RESPNode], _ bytes: RawSpan) throws(RedisTrouble) -> Bool {
    if case .error(let range)? = nodes.first {
      let error = RedisError(bytes.extracting(range))
      // What else is wrong with the key is said where it is used.
      if case .look = step, case .refused = error.meaning { return false }
      let trouble = refusal ?? Self.trouble(error, step)
      guard case .login = step, case .loginRefused = trouble else { throw trouble }
      refusal = trouble
      return false
    }
    switch (step, nodes.first) {
    case (.login, _): break
    case (.role, .array) where nodes.count > 1:
      switch Self.text(nodes[1], bytes) {
      case "master": if nodes.count > 3, case .array(let count) = nodes[3] { replicas = count }
      case "slave": throw refusal ?? .replica
      case "sentinel": throw .sentinel
      default: throw .senseless("a role that is unknown")
      }
      if let refusal { throw refusal }
    case (.server, .bulk(let range)):
      let facts = Self.facts(bytes.extracting(range))
      guard let run = facts["run_id"], let version = facts["redis_version"] else {
        throw .senseless("no run_id and redis_version in INFO")
      }
      guard Self.isNewEnough(version) else { throw .tooOld(version) }
      (self.run, self.version) = (run, version)
      isClustered = facts["redis_mode"] == "cluster"
    case (.persistence, .bulk(let range)):
      guard Self.facts(bytes.extracting(range))["loading"] != "1" else { throw .loading }
    case (.memory, .bulk(let range)):
      let facts = Self.facts(bytes.extracting(range))
      // `volatile-…` removes what has a time to live, and no key of a fleet has one.
      if let policy = facts["maxmemory_policy"], policy.hasPrefix("allkeys"), facts["maxmemory"] != "0" {
        eviction = policy
      }
    case (.look, .array): break
    case (.client, .integer(let id)):
      server = RedisServer(
        run: run, version: version, client: id, isClustered: isClustered, replicas: replicas, eviction: eviction)
      return true
    default: throw .senseless("\(step.words.joined(separator: " ")) has another answer")
    }
    return false
  }

  /// What the first answers mean: a login without a password that is wanted, a server that has no place left.
  private static func trouble(_ error: RedisError, _ step: Step) -> RedisTrouble {
    if case .wrongServer(let trouble) = error.meaning { return trouble }
    if error.text.contains(text: "max number of clients") || error.code == "DENIED" || error.code == "-DENIED" {
      return .turnedAway(error.text)
    }
    if case .login = step { return .loginRefused(error.text) }
    return .forbidden(error.text)
  }

  private static func text(_ node: RESPNode, _ bytes: RawSpan) -> String? {
    switch node {
    case .bulk(let range), .simple(let range): String(shortening: bytes.extracting(range), to: RedisError.limit)
    case .error, .integer, .null, .array: nil
    }
  }

  /// Lines of `name:value`.
  static func facts(_ bytes: RawSpan) -> [String: String] {
    let text = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    var facts: [String: String] = [:]
    for line in text.utf8.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
      facts[String(Substring(line[..<colon]))] = String(Substring(line[line.index(after: colon)...]))
    }
    return facts
  }

  private static func isNewEnough(_ version: String) -> Bool {
    let numbers = version.split(separator: ".").map { Int($0) ?? 0 }
    guard let major = numbers.first else { return false }
    return major > 6 || major == 6 && numbers.count > 1 && numbers[1] >= 2
  }
}

extension RedisLogin.Step {
  fileprivate var words: [String] {
    switch self {
    case .login: ["AUTH"]
    case .role: ["ROLE"]
    case .server: ["INFO", "server"]
    case .persistence: ["INFO", "persistence"]
    case .memory: ["INFO", "memory"]
    case .look(let key): ["HMGET", key.text, "own"]
    case .client: ["CLIENT", "ID"]
    }
  }

  func write(_ writer: inout RESPWriter) {
    switch self {
    case .login(let user, let password):
      writer.write("AUTH") {
        if let user { $0.append(user) }
        $0.append(password)
      }
    case .role: writer.write("ROLE")
    case .server: writer.write("INFO") { $0.append("server" as StaticString) }
    case .persistence: writer.write("INFO") { $0.append("persistence" as StaticString) }
    case .memory: writer.write("INFO") { $0.append("memory" as StaticString) }
    case .look(let key):
      writer.write("HMGET") {
        $0.append(key.text)
        $0.append("own" as StaticString)
      }
    case .client: writer.write("CLIENT") { $0.append("ID" as StaticString) }
    }
  }
}
