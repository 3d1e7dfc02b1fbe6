/// `[[access]]`: who may do what with which events of which upstream.
public struct AccessRule: Equatable, Sendable {
  /// Either a user id or a group id, resolved from a name or a number when the configuration is read.
  var subject: AccessSubject
  /// Names or globs of configured upstreams; empty means every upstream, ad-hoc ones included.
  @ByBytes var upstreams: [String]
  /// Names or globs of the namespaces in which it allows something; empty means every one.
  @ByBytes var namespaces: [String]
  /// Names or globs of the events that it allows to send and to read; empty means every one.
  @ByBytes var events: [String]
  var allow: Set<AccessVerb>
  /// How a person finds it: `[[access]] 2 (user "backup", upstream "chat")`.
  var label = AccessRuleLabel()

  init(
    subject: AccessSubject, upstreams: [String], namespaces: [String] = [], events: [String] = [],
    allow: Set<AccessVerb>
  ) {
    self.subject = subject
    self.upstreams = upstreams
    self.namespaces = namespaces
    self.events = events
    self.allow = allow
  }
}

/// What a rule is called before people. Not a part of what it says: the same rule elsewhere in the file is no change.
struct AccessRuleLabel: Equatable, Sendable {
  var text = ""

  static func == (a: Self, b: Self) -> Bool { true }
}

/// A user or a group of the machine, by its number.
enum AccessSubject: Hashable, Sendable {
  case user(UInt32)
  case group(UInt32)
}

/// In whose name something is done: what access rules are compared with, now or when it is done later.
public struct AccessIdentity: Hashable, Sendable {
  var uid: UInt32
  /// The groups that the program had, the primary one among them.
  var groups: [UInt32]

  public init(uid: UInt32, groups: [UInt32]) {
    self.uid = uid
    self.groups = groups
  }

  /// Whether an access rule with this subject is about it.
  func matches(_ subject: AccessSubject) -> Bool {
    switch subject {
    case .user(let uid): self.uid == uid
    case .group(let gid): groups.contains(gid)
    }
  }
}

/// The verbs of the local protocol's rights.
public enum AccessVerb: String, CaseIterable, Sendable {
  case status, subscribe, send, request, admin
}

/// Which rules say who may use an upstream.
enum AccessScope: Hashable {
  /// Those of the configured upstream of that name.
  case upstream(String)
  /// Those of upstreams that are used by URL.
  case adhoc
  /// What all of these allow: they have the URL that it was made by, each since a reload.
  case shared([String])
  /// None, because the configuration in force lets no program of any user use it.
  case closed

  /// The name of a configured upstream.
  var name: String? {
    if case .upstream(let name) = self { name } else { nil }
  }
}

/// Where something is done, as access rules see it.
struct AccessPlace: Hashable {
  var scope: AccessScope
  /// Configured upstreams whose rules have to allow it as well, because it is their server, so that another URL or
  /// another upstream's namespace is no way around them.
  var neighbours: [String] = []
  /// The same where the URL's kind is another one. What it calls a namespace and an event is not what the upstream's
  /// rules call so: only those about all namespaces and events say anything about it.
  var strangers: [String] = []
  /// Without its query; nil stands for any namespace, of which one is enough.
  @ByBytes private(set) var namespace: String?

  init(_ scope: AccessScope, neighbours: [String] = [], namespace: String?) {
    self.scope = scope
    self.neighbours = neighbours
    // Old servers take credentials as a query, which does not make it another namespace.
    self.namespace = namespace.map { namespace in
      let (name, query) = namespace.parts(before: "?")
      return query.isEmpty ? namespace : String(name)
    }
  }

  /// The name of a configured upstream.
  var name: String? { scope.name }
}
