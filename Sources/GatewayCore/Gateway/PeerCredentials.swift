/// The program at the other end of a local socket, as the kernel names it (`SO_PEERCRED`, `SO_PEERGROUPS`).
public struct PeerCredentials: Equatable, Sendable {
  public var pid: Int32
  public var uid: UInt32
  /// The primary group.
  public var gid: UInt32
  /// The supplementary groups; the primary one may be among them.
  public var groups: [UInt32]

  public init(pid: Int32, uid: UInt32, gid: UInt32, groups: [UInt32]) {
    self.pid = pid
    self.uid = uid
    self.gid = gid
    self.groups = groups
  }

  /// In whose name its calls are made.
  var identity: AccessIdentity {
    AccessIdentity(uid: uid, groups: groups.contains(gid) ? groups : [gid] + groups)
  }
}
