import GatewayCore
import Glibc

/// The users of the machine and their groups, by way of the name service switch. May block for as long as the machine's
/// directory service takes.
final class SystemUsers: UserDirectory {
  /// A user in more groups counts as being in the first of them.
  private static let groupLimit = 1 << 16

  func user(named name: String) -> AccessIdentity? {
    guard let entry = getpwnam(name) else { return nil }
    return identity(entry.pointee)
  }

  func user(_ uid: UInt32) -> AccessIdentity? {
    guard let entry = getpwuid(uid) else { return nil }
    return identity(entry.pointee)
  }

  private func identity(_ entry: passwd) -> AccessIdentity {
    AccessIdentity(uid: entry.pw_uid, groups: Self.groups(of: entry.pw_name, entry.pw_gid))
  }

  private static func groups(of name: UnsafeMutablePointer<CChar>, _ primary: UInt32) -> [UInt32] {
    var room: Int32 = 64
    while true {
      var groups = [UInt32](repeating: 0, count: Int(room))
      var count = room
      if getgrouplist(name, primary, &groups, &count) >= 0 || Int(room) >= groupLimit {
        return Array(groups.prefix(Int(min(count, room))))
      }
      room = min(max(count, room * 2), Int32(groupLimit))
    }
  }
}
