import Glibc
import GatewayCore

/// One configuration file as it was found on disk.
struct ConfigurationFile {
  /// Why a file could not be read.
  enum Failure: Error, Equatable {
    case missing
    /// A sentence's predicate, such as `cannot be opened: Permission denied`.
    case unreadable(String)
  }

  var path: String
  var bytes: [UInt8]
  /// Permission bits.
  var mode: UInt32

  /// Reads a regular file of at most `TomlText.limit` bytes. Never waits: devices and pipes are refused.
  static func read(_ path: String) throws(Failure) -> Self {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else {
      if errno == ENOENT { throw .missing }
      throw .unreadable("cannot be opened: \(Self.reason(errno))")
    }
    defer { close(descriptor) }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
      throw .unreadable("is not a regular file")
    }
    return Self(path: path, bytes: try bytes(of: descriptor), mode: facts.st_mode & 0o7777)
  }

  /// The system's text, and what to do where that depends on who asks.
  static func reason(_ code: Int32) -> String {
    let text = SystemError.text(of: code)
    return code == EACCES || code == EPERM ? text + "; let the user read it that gatewayd runs as" : text
  }

  private static func bytes(of descriptor: Int32) throws(Failure) -> [UInt8] {
    let limit = TomlText.limit
    var failure: Failure?
    let bytes = [UInt8](unsafeUninitializedCapacity: limit + 1) { buffer, count in
      while count < buffer.count {
        let read = Glibc.read(descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count)
        if read > 0 { count += read }
        if read == 0 { break }
        if read < 0, errno != EINTR {
          failure = .unreadable("cannot be read: \(SystemError.text(of: errno))")
          break
        }
      }
    }
    if let failure { throw failure }
    guard bytes.count <= limit else { throw .unreadable("is longer than \(limit) bytes") }
    return bytes
  }
}
