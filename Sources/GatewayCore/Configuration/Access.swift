/// `[[access]]`: who may do what with which upstream.
public struct AccessRule: Equatable, Sendable {
  /// Either a user id or a group id, resolved from a name or a number when the configuration is read.
  public var subject: AccessSubject
  /// Names or globs of configured upstreams; empty means every upstream, ad-hoc ones included.
  public var upstreams: [String]
  public var allow: Set<AccessVerb>
  init(subject: AccessSubject, upstreams: [String], allow: Set<AccessVerb>) {
    self.subject = subject
    self.upstreams = upstreams
    self.allow = allow
  }
}

/// A user or a group of the machine, by its number.
public enum AccessSubject: Hashable, Sendable {
  case user(UInt32)
  case group(UInt32)
}

/// In whose name something is done: what access rules are compared with, now or when it is done later.
public struct AccessIdentity: Hashable, Sendable {
  public var uid: UInt32
  /// The groups that the program had, the primary one among them.
  public var groups: [UInt32]

  init(uid: UInt32, groups: [UInt32]) {
    self.uid = uid
    self.groups = groups
  }

  /// Whether an access rule with this subject is about it.
  public func matches(_ subject: AccessSubject) -> Bool {
    switch subject {
    case .user(let uid): self.uid == uid
    case .group(let gid): groups.contains(gid)
    }
  }
}

/// The verbs of the local protocol's rights.
public enum AccessVerb: String, CaseIterable, Sendable {
  case status, subscribe, send, admin
}

/// Which rules say who may use an upstream.
enum AccessScope: Equatable {
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
