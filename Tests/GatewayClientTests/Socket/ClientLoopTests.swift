import Testing

@testable import GatewayClient

@Suite struct ClientLoopTests {
  @Test func withoutADaemonACallEndsInTimeAndADroppedClientLeavesNoThread() async throws {
    weak var loop: ClientLoop?
    do {
      let gateway = Gateway(socket: "/nonexistent/gatewayd.sock", connectTimeout: .milliseconds(30))
      loop = gateway.loop
      await #expect(throws: GatewayError.self) { try await gateway.ping() }
    }
    // The thread holds the loop until it has ended.
    while loop != nil { await Task.yield() }
  }

  @Test func aPathThatIsNoSocketIsNoDaemon() async {
    let gateway = Gateway(socket: "/etc/passwd")
    do {
      try await gateway.ping()
      Issue.record("a file answers no call")
    } catch GatewayError.Kind.protocolMismatch {
      // At once, and not after the time for a daemon that is just starting.
    } catch {
      Issue.record(error)
    }
  }

  @Test func behindItsCloseEverythingEnds() async throws {
    let gateway = Gateway(socket: "/nonexistent/gatewayd.sock", connectTimeout: .seconds(60))
    let call = Task { try await gateway.ping() }
    let subscription = Task { _ = try await gateway.subscribe("chat") }
    gateway.close()
    for task in [call, subscription] {
      await #expect { try await task.value } throws: { ($0 as? GatewayError)?.kind == .closed }
    }
  }
}
