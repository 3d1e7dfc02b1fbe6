import Glibc

/// The daemon's own listening socket in the file system, when systemd passed none. The file appears in one step,
/// already listening and with its final mode and group, and leaves with the daemon unless another program has put another
/// there.
final class SocketFile {
  let path: String
  /// Listening; close-on-exec and non-blocking. Owned by this object.
  let descriptor: Int32
  private let identity: FileIdentity
  private let lock: SocketLock

  /// Makes the file. `group` is a name or a number; nil leaves the daemon's own group.
  init(path: String, mode: UInt32, group: String?) throws(StartFailure) {
    let place = try Place(path)
    let groupID = try group.map { name throws(StartFailure) in try Self.groupID(name) }
    try Self.refuseIfTaken(path)
    lock = try SocketLock(beside: path)
    // The daemon that held the lock until now may have begun to listen.
    try Self.refuseIfTaken(path)
    let temporary = place.temporaryPath()
    do throws(SystemError) {
      descriptor = try UnixSocket.make()
    } catch {
      throw Self.failure(path, error)
    }
    do throws(SystemError) {
      identity = try Self.appear(descriptor, temporary, path, mode: mode, group: groupID)
    } catch {
      close(descriptor)
      unlink(temporary)
      throw Self.failure(path, error)
    }
    self.path = path
  }

  deinit { close(descriptor) }

  /// Takes the file away if it is still ours. The descriptor stays open until the object goes.
  func remove() {
    if let current = try? FileIdentity(of: path), current == identity { unlink(path) }
    lock.release()
  }

  /// Makes a socket under a temporary name, complete, and gives it its real name in one step.
  private static func appear(
    _ descriptor: Int32, _ temporary: String, _ path: String, mode: UInt32, group: gid_t?
  ) throws(SystemError) -> FileIdentity {
    try UnixSocket.bind(descriptor, to: temporary)
    try dress(temporary, mode: mode, group: group)
    try UnixSocket.listen(descriptor)
    let identity = try FileIdentity(of: temporary)
    guard rename(temporary, path) == 0 else { throw SystemError("rename a socket") }
    return identity
  }

  /// A name is looked up first, so a group that is called `100` is found.
  private static func groupID(_ group: String) throws(StartFailure) -> gid_t {
    if let id = SystemLookups().groupID(named: group) ?? gid_t(group), id != gid_t.max { return id }
    throw StartFailure(
      .configuration, "there is no group \u{201C}\(group)\u{201D} for the socket: create it, or change socket.group")
  }

  /// Group before mode: the mode would let the wrong group in for a moment.
  private static func dress(_ path: String, mode: UInt32, group: gid_t?) throws(SystemError) {
    if let group, lchown(path, uid_t.max, group) != 0 { throw SystemError("give a socket to group \(group)") }
    guard chmod(path, mode_t(mode)) == 0 else { throw SystemError("set the mode of a socket") }
  }

  /// Only a socket behind which no program listens may be replaced.
  private static func refuseIfTaken(_ path: String) throws(StartFailure) {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      if errno == ENOENT { return }
      throw failure(path, SystemError("look at \(path)"))
    }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw StartFailure(
        .unavailable, "\(path) exists and is no socket: move it away, or listen elsewhere with --socket PATH")
    }
    switch UnixSocket.probe(path) {
    case .absent, .dead: return
    case .alive:
      throw StartFailure(
        .unavailable, "another gatewayd listens on \(path): stop it, or listen elsewhere with --socket PATH")
    case .unknown(let error):
      let isDenied = error.code == EACCES
      throw StartFailure(
        isDenied ? .permission : .unavailable,
        "\(path) exists and it cannot be told whether anybody listens on it: \(SystemError.text(of: error.code)); "
          + (isDenied ? "an ordinary user starts with --user or --socket PATH" : "listen elsewhere with --socket PATH"))
    }
  }

  private static func failure(_ path: String, _ error: SystemError) -> StartFailure {
    guard [EACCES, EPERM, EROFS].contains(error.code) else {
      return StartFailure(.unavailable, "cannot listen on \(path): \(SystemError.text(of: error.code))")
    }
    return StartFailure(
      .permission,
      "cannot listen on \(path): \(SystemError.text(of: error.code)); an ordinary user starts with --user or --socket PATH"
    )
  }
}

extension SocketFile {
  /// A path that was checked, taken apart.
  private struct Place {
    let directory: String
    let name: String
    private static let suffixLength = 6

    init(_ path: String) throws(StartFailure) {
      let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
      name = String(slash.map { path[path.utf8.index(after: $0)...] } ?? path[...])
      directory = slash.map { String(path[...$0]) } ?? ""
      let length = path.utf8.count
      guard length <= UnixSocket.pathLimit, directory.utf8.count + Self.suffixLength < UnixSocket.pathLimit else {
        throw StartFailure(
          .configuration,
          "the socket path has \(length) bytes and Linux allows \(UnixSocket.pathLimit): choose a shorter one (\(path))"
        )
      }
      guard !name.isEmpty, name != ".", name != ".." else {
        throw StartFailure(.configuration, "\(path) names a directory: the socket needs a file name")
      }
      var status = stat()
      guard stat(directory.isEmpty ? "." : directory, &status) == 0 else {
        let code = errno
        let first = code == ENOENT ? "make it, or " : ""
        throw StartFailure(
          .configuration,
          "the directory of the socket \(path) cannot be used: \(SystemError.text(of: code)); "
            + "\(first)listen elsewhere with --socket PATH")
      }
    }

    /// A free name in the same directory, never longer than the path limit allows.
    func temporaryPath() -> String {
      var suffix = ""
      for _ in 0..<Self.suffixLength { suffix.append(Character(Unicode.Scalar(UInt8.random(in: 97...122)))) }
      let room = UnixSocket.pathLimit - directory.utf8.count - suffix.utf8.count - 2
      let kept = name.utf8.count <= room ? name + "." : ""
      return directory + "." + kept + suffix
    }
  }
}
