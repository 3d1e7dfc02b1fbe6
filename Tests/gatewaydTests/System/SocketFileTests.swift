import Glibc
import Testing

@testable import gatewayd

/// Making, replacing and removing the socket's file.
struct SocketFileTests {
  private let directory: TemporaryDirectory
  private var path: String { directory / "gateway.sock" }

  init() throws { directory = try TemporaryDirectory() }

  private func make(mode: UInt32 = 0o660, group: String? = nil) throws(StartFailure) -> SocketFile {
    try SocketFile(path: path, mode: mode, group: group)
  }

  private func failure(_ body: () throws(StartFailure) -> SocketFile) -> StartFailure? {
    do throws(StartFailure) {
      _ = try body()
      return nil
    } catch {
      return error
    }
  }

  private func status(_ path: String) -> stat? {
    var status = stat()
    return lstat(path, &status) == 0 ? status : nil
  }

  @Test func theFileAcceptsConnectionsAsSoonAsItIsThere() throws {
    let file = try make()
    #expect(UnixSocket.probe(path) == .alive)
    file.remove()
    #expect(directory.names == [])
  }

  @Test(arguments: [0o600, 0o660, 0o666] as [UInt32])
  func modeIsTheConfiguredOne(_ mode: UInt32) throws {
    let file = try make(mode: mode)
    defer { file.remove() }
    #expect(status(path).map { $0.st_mode & 0o7777 } == mode)
  }

  @Test func groupIsGivenByNumberOrByName() throws {
    let own = getegid()
    for group in [String(own)] + (own == 0 ? ["root"] : []) {
      let file = try make(group: group)
      #expect(status(path)?.st_gid == own)
      file.remove()
    }
  }

  @Test func theFileHasItsModeFromTheFirstMoment() throws {
    // Another thread looks as fast as it can; whenever it sees the file, it sees the final mode.
    let watched = path
    let seen = ModeWatch()
    try Descriptors.thread { seen.watch(watched) }
    var rounds = 0
    while rounds < 200 || (seen.modes.isEmpty && rounds < 100_000) {
      try make(mode: 0o640).remove()
      rounds += 1
    }
    seen.stop()
    #expect(seen.modes.subtracting([0o640]) == [])
    #expect(seen.modes.contains(0o640))
  }

  @Test func anUnknownGroupIsNamed() {
    let failure = failure { () throws(StartFailure) in try make(group: "no-such-group") }
    #expect(failure?.status == .configuration)
    #expect(failure?.message.contains("no-such-group") == true)
    #expect(directory.names == [])
  }

  @Test func aStaleFileIsReplaced() throws {
    let left = try UnixSocket.make()
    try UnixSocket.bind(left, to: path)
    close(left)
    let old = try FileIdentity(of: path)
    let file = try make()
    defer { file.remove() }
    #expect(try FileIdentity(of: path) != old)
    #expect(UnixSocket.probe(path) == .alive)
  }

  @Test func aSecondDaemonIsTurnedAwayAndTheFirstOneStays() throws {
    let first = try make()
    defer { first.remove() }
    let failure = failure { () throws(StartFailure) in try make() }
    #expect(failure?.status == .unavailable)
    #expect(failure?.message.hasPrefix("another gatewayd listens on \(path)") == true)
    #expect(UnixSocket.probe(path) == .alive)
    #expect(directory.names == ["gateway.sock", "gateway.sock.lock"])
  }

  @Test func aDaemonThatIsJustStartingIsRespected() throws {
    let lock = try SocketLock(beside: path)
    let failure = failure { () throws(StartFailure) in try make() }
    #expect(failure?.status == .unavailable)
    #expect(failure?.message.contains("gateway.sock.lock") == true)
    lock.release()
    try make().remove()
  }

  @Test func aLockFileLeftByACrashDoesNotMatter() throws {
    close(open(path + ".lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o600))
    try make().remove()
    #expect(directory.names == [])
  }

  @Test func aFileThatIsNoSocketIsNeverReplaced() throws {
    close(open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600))
    let failure = failure { () throws(StartFailure) in try make() }
    #expect(failure?.status == .unavailable)
    #expect(failure?.message.contains("is no socket") == true)
    #expect(directory.names == ["gateway.sock"])
  }

  @Test func aSymbolicLinkIsNeverReplaced() throws {
    symlink("/nowhere", path)
    #expect(failure { () throws(StartFailure) in try make() }?.message.contains("is no socket") == true)
    #expect(directory.names == ["gateway.sock"])
  }

  @Test func onlyOurOwnFileIsRemoved() throws {
    let first = try make()
    unlink(path)
    let other = try UnixSocket.make()
    defer { close(other) }
    try UnixSocket.bind(other, to: path)
    first.remove()
    #expect(directory.names == ["gateway.sock"])
  }

  @Test func theLongestPathThatLinuxAllowsWorks() throws {
    let room = UnixSocket.pathLimit - directory.path.utf8.count - 1
    let longest = directory / String(repeating: "s", count: room)
    let file = try SocketFile(path: longest, mode: 0o600, group: nil)
    #expect(UnixSocket.probe(longest) == .alive)
    file.remove()
    let failure = failure { () throws(StartFailure) in
      try SocketFile(path: longest + "s", mode: 0o600, group: nil)
    }
    #expect(failure?.status == .configuration)
    #expect(failure?.message.contains("has 108 bytes and Linux allows 107") == true)
  }

  @Test(arguments: ["/missing/gateway.sock", "/dev/null/gateway.sock"])
  func aDirectoryThatDoesNotExistIsExplained(_ path: String) {
    let failure = failure { () throws(StartFailure) in try SocketFile(path: path, mode: 0o600, group: nil) }
    #expect(failure?.status == .configuration)
    let advice = path.hasPrefix("/missing") ? "make it, or listen elsewhere" : "listen elsewhere"
    #expect(failure?.message.hasPrefix("the directory of the socket \(path) cannot be used: ") == true)
    #expect(failure?.message.hasSuffix("directory; \(advice) with --socket PATH") == true)
  }

  @Test func theDescriptorIsCloseOnExecAndNonBlocking() throws {
    let file = try make()
    defer { file.remove() }
    #expect(fcntl(file.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    #expect(fcntl(file.descriptor, F_GETFL) & O_NONBLOCK != 0)
  }
}
