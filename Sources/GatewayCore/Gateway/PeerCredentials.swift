/// Who is at the other end of a local socket, as the kernel says (`SO_PEERCRED`, `SO_PEERGROUPS`).
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

  /// Whether an access rule with this subject is about this peer.
  public func matches(_ subject: AccessSubject) -> Bool {
    switch subject {
    case .user(let uid): self.uid == uid
    case .group(let gid): self.gid == gid || groups.contains(gid)
    }
  }
}
