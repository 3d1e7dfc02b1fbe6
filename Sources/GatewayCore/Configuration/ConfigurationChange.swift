/// What distinguishes a new configuration from the one in force. Made at a reload, so that it touches only what
/// changed.
public struct ConfigurationChange: Equatable, Sendable {
  /// Names of upstreams that are new, sorted.
  let added: [String]
  /// Names of upstreams that are gone, sorted.
  let removed: [String]
  /// Names of upstreams whose URL or effective settings are others, sorted. Includes those which only inherited a
  /// change of `[defaults]`.
  let changed: [String]
  /// Tables whose values are others, of `socket`, `log`, `limits`, `state`, `outbox`, `metrics`, `fleet`, `defaults`,
  /// `access` and `quota`, in this order. `defaults` applies to upstreams used by URL; what it changes for configured ones is in
  /// `changed`.
  let tables: [String]

  /// The settings that take effect only when the daemon is started again, and are others than those that it was started with.
  public let needsRestart: [String]

  /// - Parameter start: what the daemon was started with; nil: `old`.
  init(from old: Configuration, to new: Configuration, startedWith start: StartSettings? = nil) {
    needsRestart = StartSettings(new).differences(from: start ?? StartSettings(old))
    added = new.upstreams.keys.filter { old.upstreams[$0] == nil }.sorted()
    removed = old.upstreams.keys.filter { new.upstreams[$0] == nil }.sorted()
    changed = new.upstreams.keys.filter { old.upstreams[$0] != nil && old.upstreams[$0] != new.upstreams[$0] }.sorted()
    let differences = [
      ("socket", old.socket != new.socket), ("log", old.log != new.log), ("limits", old.limits != new.limits),
      ("state", old.state != new.state), ("outbox", old.outbox != new.outbox), ("metrics", old.metrics != new.metrics),
      ("fleet", old.fleet != new.fleet),
      ("defaults", old.defaults != new.defaults || old.adhoc != new.adhoc),
      ("access", old.access != new.access), ("quota", old.quotas != new.quotas),
    ]
    tables = differences.filter(\.1).map(\.0)
  }

  var isEmpty: Bool { names.isEmpty }

  /// Whether sends that wait may mean another connection by it, or may not be sent any more, or again.
  var concernsSends: Bool {
    !(added.isEmpty && removed.isEmpty && changed.isEmpty) || tables.contains { $0 == "defaults" || $0 == "access" }
  }

  /// What `reload` answers: the name of every upstream added, removed or changed, then the other tables in brackets.
  public var names: [String] { (added + removed + changed).sorted() + tables.map { "[\($0)]" } }
}

/// What is read only when the daemon starts.
struct StartSettings: Equatable, Sendable {
  private let socket: SocketSettings
  private let state: StateSettings
  private let fleet: FleetOptions

  init(_ configuration: Configuration) {
    (socket, state, fleet) = (configuration.socket, configuration.state, configuration.fleet)
  }

  /// The names of the settings, such as `fleet.grace`.
  func differences(from other: StartSettings) -> [String] {
    Self.settings.filter { !$0.isSame(self, other) }.map(\.name)
  }

  private struct Named: Sendable {
    let name: String
    let isSame: @Sendable (StartSettings, StartSettings) -> Bool
  }

  private static func named<Value: Equatable & Sendable>(
    _ name: String, _ path: KeyPath<StartSettings, Value> & Sendable
  ) -> Named {
    Named(name: name) { $0[keyPath: path] == $1[keyPath: path] }
  }

  private static let settings = [
    named("socket.path", \.socket.path), named("socket.mode", \.socket.mode), named("socket.group", \.socket.group),
    named("state.path", \.state.path), named("fleet.name", \.fleet.name), named("fleet.redis", \.fleet.redis),
    named("fleet.user", \.fleet.user), named("fleet.password_file", \.fleet.passwordFile),
    named("fleet.password_credential", \.fleet.passwordCredential), named("fleet.tls.ca", \.fleet.authorities),
    named("fleet.host", \.fleet.host), named("fleet.hold", \.fleet.hold), named("fleet.lease", \.fleet.lease),
    named("fleet.grace", \.fleet.grace), named("fleet.adopt", \.fleet.adopt), named("fleet.yield", \.fleet.yield),
    named("fleet.durable", \.fleet.durable), named("fleet.copies", \.fleet.copies),
  ]

  /// All of them.
  static let names = settings.map(\.name)
}

extension FleetOptions {
  fileprivate var passwordFile: String? { if case .file(let path)? = password { path } else { nil } }
  fileprivate var passwordCredential: String? { if case .credential(let name)? = password { name } else { nil } }
}
