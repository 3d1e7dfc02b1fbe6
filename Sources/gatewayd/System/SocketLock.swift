import Glibc

/// A locked file beside the socket, so that two daemons that start at once cannot both find the path free. The kernel
/// drops the lock when the daemon ends in whatever way.
final class SocketLock {
  private let path: String
  private var descriptor: Int32

  /// Locks `socketPath` + `.lock`.
  init(beside socketPath: String) throws(StartFailure) {
    path = socketPath + ".lock"
    descriptor = -1
    // The daemon that held the lock before may have taken the file away between our open and our lock: then try the new
    // one.
    for _ in 0..<8 {
      let candidate = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard candidate >= 0 else { throw Self.failure(socketPath, path, SystemError("open \(path)")) }
      guard flock(candidate, LOCK_EX | LOCK_NB) == 0 else {
        let error = SystemError("lock \(path)")
        close(candidate)
        throw Self.failure(socketPath, path, error)
      }
      if let ours = try? FileIdentity(of: candidate), let named = try? FileIdentity(of: path), ours == named {
        descriptor = candidate
        return
      }
      close(candidate)
    }
    throw StartFailure(.unavailable, "another gatewayd is starting or stopping on \(socketPath): try again")
  }

  deinit { release() }

  /// Takes the file away and drops the lock. Repeating it does nothing.
  func release() {
    guard descriptor >= 0 else { return }
    unlink(path)
    close(descriptor)
    descriptor = -1
  }

  private static func failure(_ socketPath: String, _ path: String, _ error: SystemError) -> StartFailure {
    switch error.code {
    case EWOULDBLOCK:
      return StartFailure(
        .unavailable, "another gatewayd uses \(socketPath): it holds \(path); stop it, or use --socket PATH")
    case EACCES, EPERM, EROFS:
      return StartFailure(
        .permission,
        "cannot make \(path): \(SystemError.text(of: error.code)); an ordinary user starts with --user or --socket PATH"
      )
    default:
      return StartFailure(.unavailable, "cannot lock \(path): \(SystemError.text(of: error.code))")
    }
  }
}

/// Tells whether a file is still the same one.
struct FileIdentity: Equatable {
  let device: dev_t
  let inode: ino_t

  init(of path: String) throws(SystemError) {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw SystemError("look at \(path)") }
    device = status.st_dev
    inode = status.st_ino
  }

  init(of descriptor: Int32) throws(SystemError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw SystemError("look at a descriptor") }
    device = status.st_dev
    inode = status.st_ino
  }
}
