/// Everything that a kind must know to reach one upstream connection. Never mutated: a changed configuration makes a
/// new value.
public struct UpstreamSpecification: Hashable, Sendable {
  /// The configured name; nil for an ad-hoc URL.
  public var name: String?
  public var url: UpstreamURL
  /// For Socket.IO the namespace, beginning with `/`.
  public var namespace: String
  public var settings: UpstreamSettings
  /// For an ad-hoc connection the owner's uid, which keeps users apart; nil for a configured upstream.
  public var owner: UInt32?
  /// On whose account the connection is made and waits for its turns: its owner's; that of whoever asked for it first, where
  /// it is another namespace of a configured upstream than the configuration's.
  public var requester: Account

  init(name: String?, url: UpstreamURL, namespace: String, settings: UpstreamSettings, owner: UInt32?) {
    self.name = name
    self.url = url
    self.namespace = namespace
    self.settings = settings
    self.owner = owner
    requester = owner.map { .user($0) } ?? .configuration
  }

  /// On whose account its connection is counted.
  var account: Account { owner.map { .user($0) } ?? .configuration }

  /// The namespace without what may be secret in it: old servers take credentials as its query.
  var shownNamespace: String { ShownAddress.namespace(namespace) }

  /// Whether nobody can listen on the way to any of its places, unless it goes through a proxy.
  var isPrivate: Bool { ([url] + settings.alternatives).allSatisfy(\.isPrivate) }
}
