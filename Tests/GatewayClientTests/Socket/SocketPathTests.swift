import Glibc
import Testing

@testable import GatewayClient

@Suite struct SocketPathTests {
  @Test func aPathThatIsTooLongSaysSo() {
    let error = SocketPath.explain(ENAMETOOLONG, "/long")
    #expect(error.kind == .protocolMismatch && error.retry == false && error.message.contains("symbolic link"))
  }

  @Test func whoMayNotOpenItIsNotToldToWait() {
    #expect(SocketPath.explain(EACCES, "/nonexistent").kind == .socketForbidden)
    #expect(SocketPath.explain(ENOENT, "/nonexistent").retry == true)
    #expect(SocketPath.explain(ECONNREFUSED, "/etc/passwd").kind == .protocolMismatch)
  }

  @Test func aNameIsCutWhereTheProtocolCutsIt() {
    #expect(SocketPath.cut(String(repeating: "é", count: 70)).utf8.count == 128)
    #expect(SocketPath.find("/given") == "/given")
  }
}
