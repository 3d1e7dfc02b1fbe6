import Testing

@testable import gatewayd

/// Which path the daemon listens on.
struct DaemonListenersTests {
  private struct Case {
    var option: String?
    var configured: String?
    var user = false
    var variables: [String: String] = [:]
    var path: String?
  }

  @Test func theFirstSourceThatNamesAPathWins() {
    let both = ["GATEWAYD_SOCKET": "/variable", "XDG_RUNTIME_DIR": "/run/user/7"]
    let cases = [
      Case(option: "/option", configured: "/configured", user: true, variables: both, path: "/option"),
      Case(configured: "/configured", user: true, variables: both, path: "/variable"),
      Case(configured: "/configured", user: true, variables: ["XDG_RUNTIME_DIR": "/run/user/7"], path: "/configured"),
      Case(user: true, variables: ["XDG_RUNTIME_DIR": "/run/user/7"], path: "/run/user/7/gatewayd.sock"),
      Case(user: true, variables: ["XDG_RUNTIME_DIR": "/run/user/7/"], path: "/run/user/7/gatewayd.sock"),
      Case(variables: ["XDG_RUNTIME_DIR": "/run/user/7"], path: "/run/gatewayd.sock"),
      Case(variables: ["GATEWAYD_SOCKET": ""], path: "/run/gatewayd.sock"),
      Case(user: true, variables: ["XDG_RUNTIME_DIR": ""], path: nil),
      Case(user: true, path: nil),
    ]
    for one in cases {
      let path = try? SocketPath.resolve(option: one.option, configured: one.configured, user: one.user) {
        one.variables[$0]
      }
      #expect(path == one.path, "\(one)")
    }
  }

  @Test func aUserDaemonWithoutRuntimeDirectoryIsAUsageError() {
    #expect(
      throws: StartFailure(.usage, "--user needs $XDG_RUNTIME_DIR, which is not set: name a socket with --socket PATH")
    ) {
      try SocketPath.resolve(option: nil, configured: nil, user: true) { _ in nil }
    }
  }
}
