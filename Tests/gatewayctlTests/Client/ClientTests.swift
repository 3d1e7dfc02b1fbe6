import Glibc
import Testing

@testable import gatewayctl

/// How a client reaches the daemon.
@Suite struct ClientTests {
  private func client(_ path: String) -> Client {
    Client(path: path, start: "", diagnostics: Diagnostics(verbosity: .quiet), isWatched: false)
  }

  /// Tests may run as root, whom the kernel refuses nothing: the codes stand for it.
  @Test(arguments: [EACCES, EPERM])
  func aSocketThatIsClosedForAMomentWhileTheDaemonRestartsIsWaitedFor(_ code: Int32) throws {
    let daemon = try FakeDaemon { try $0.accept(hello: nil).awaitEnd() }
    let connected = client(daemon.path)
    #expect(try connected.attempt() == nil)
    #expect(try connected.reason(toTryAgainAfter: code) == SystemText.ofError(code))
    connected.close()
    try daemon.finish()
  }

  @Test(arguments: [EACCES, EPERM])
  func aSocketThatIsClosedAtFirstIsNotWaitedFor(_ code: Int32) throws {
    let failure = #expect(throws: Failure.self) {
      _ = try client("/nonexistent").reason(toTryAgainAfter: code)
    }
    #expect(failure?.code == .permissionDenied)
  }
}
