import Glibc
import GatewayCore

/// Accounts by way of the name service switch, and files by trying to open them. Account lookups may block for as long
/// as the machine's directory service takes.
final class SystemLookups: ConfigurationLookups {
  /// A group's entry holds all its members; an entry beyond this many bytes counts as not found.
  private static let entryLimit = 1 << 20

  func userID(named name: String) -> UInt32? {
    var entry = passwd()
    return Self.find { buffer, size in
      var found: UnsafeMutablePointer<passwd>?
      let code = getpwnam_r(name, &entry, buffer, size, &found)
      return (code, found?.pointee.pw_uid)
    }
  }

  func groupID(named name: String) -> UInt32? {
    var entry = group()
    return Self.find { buffer, size in
      var found: UnsafeMutablePointer<group>?
      let code = getgrnam_r(name, &entry, buffer, size, &found)
      return (code, found?.pointee.gr_gid)
    }
  }

  func obstacle(toReading path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { return errno == ENOENT ? nil : String(cString: strerror(errno)) }
    defer { close(descriptor) }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0 else { return String(cString: strerror(errno)) }
    return facts.st_mode & S_IFMT == S_IFDIR ? String(cString: strerror(EISDIR)) : nil
  }

  /// Repeats a lookup with more room until its entry fits.
  private static func find(_ look: (UnsafeMutablePointer<CChar>?, Int) -> (code: Int32, id: UInt32?)) -> UInt32? {
    var size = 1 << 12
    while size <= entryLimit {
      var buffer = [CChar](repeating: 0, count: size)
      let (code, id) = buffer.withUnsafeMutableBufferPointer { look($0.baseAddress, $0.count) }
      guard code == ERANGE else { return id }
      size *= 4
    }
    return nil
  }
}
