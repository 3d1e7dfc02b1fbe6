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
  }

  @Test func theDaemonIsLookedForWhereGatewayctlLooks() {
    let there: Set = ["/run/user/1000/gatewayd.sock", "/run/user/0/gatewayd.sock", "/own/gatewayd.sock"]
    func find(_ chosen: String? = nil, _ variables: [String: String] = [:], user: UInt32 = 1_000) -> String {
      SocketPath.find(chosen, variable: { variables[$0] }, user: user, exists: there.contains)
    }
    #expect(find() == "/run/user/1000/gatewayd.sock")
    #expect(find(user: 1_001) == "/run/gatewayd.sock")
    #expect(find(user: 0) == "/run/gatewayd.sock")
    #expect(find(nil, ["XDG_RUNTIME_DIR": "/own"]) == "/own/gatewayd.sock")
    #expect(find(nil, ["XDG_RUNTIME_DIR": "/not"]) == "/run/gatewayd.sock")
    #expect(find(nil, ["XDG_RUNTIME_DIR": "/own", "GATEWAYD_SOCKET": "/named"]) == "/named")
    #expect(find("/given", ["GATEWAYD_SOCKET": "/named"]) == "/given")
  }
}
