import Glibc
import GatewayCore

/// Accounts by way of the name service switch, and files by trying to open them. Account lookups may block for as long
/// as the machine's directory service takes.
final class SystemLookups: ConfigurationLookups {
  /// A group's entry holds all its members; an entry beyond this many bytes counts as not found.
  private static let entryLimit = 1 << 20

  let demandsFiles: Bool

  init(demandsFiles: Bool = false) { self.demandsFiles = demandsFiles }

  func userID(named name: String) -> UInt32? {
    Self.find { buffer in
      var entry = passwd()
      var found: UnsafeMutablePointer<passwd>?
      guard let room = buffer.baseAddress else { return (ERANGE, nil) }
      let code = getpwnam_r(name, &entry, room, buffer.count, &found)
      return (code, found == nil ? nil : entry.pw_uid)
    }
  }

  func groupID(named name: String) -> UInt32? {
    Self.find { buffer in
      var entry = group()
      var found: UnsafeMutablePointer<group>?
      guard let room = buffer.baseAddress else { return (ERANGE, nil) }
      let code = getgrnam_r(name, &entry, room, buffer.count, &found)
      return (code, found == nil ? nil : entry.gr_gid)
    }
  }

  func obstacle(toReading path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { return errno == ENOENT && !demandsFiles ? nil : SystemError.text(of: errno) }
    defer { close(descriptor) }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0 else { return SystemError.text(of: errno) }
    switch facts.st_mode & S_IFMT {
    case S_IFREG: return demandsFiles && Self.isEmpty(descriptor) ? "it is empty" : nil
    case S_IFDIR: return SystemError.text(of: EISDIR)
    default: return "it is not a regular file"
    }
  }

  /// Asks for a byte: some file systems say the size zero of what they make up when it is read.
  private static func isEmpty(_ descriptor: Int32) -> Bool {
    var byte: UInt8 = 0
    return read(descriptor, &byte, 1) == 0
  }

  /// Repeats a lookup with more room until its entry fits.
  private static func find(_ look: (UnsafeMutableBufferPointer<CChar>) -> (code: Int32, id: UInt32?)) -> UInt32? {
    var size = 1 << 12
    while size <= entryLimit {
      let (code, id) = withUnsafeTemporaryAllocation(of: CChar.self, capacity: size, look)
      guard code == ERANGE else { return id }
      size *= 4
    }
    return nil
  }
}
