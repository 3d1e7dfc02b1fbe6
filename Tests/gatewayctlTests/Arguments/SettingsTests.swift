import Testing

@testable import gatewayctl

@Suite struct SettingsTests {
  private func choose(_ option: String?, _ variables: [String: String], exists: Bool = true) throws(Failure) -> String {
    var environment = Environment(variable: { variables[$0] }, outputIsTerminal: false, errorsAreTerminal: false)
    environment.fileExists = { _ in exists }
    return try SocketPath.choose(option: option, environment: environment)
  }

  @Test func theSocketIsLookedForInOrder() throws {
    let both = ["GATEWAYD_SOCKET": "/b", "XDG_RUNTIME_DIR": "/c"]
    #expect(try choose("/a", both) == "/a")
    #expect(try choose(nil, both) == "/b")
    #expect(try choose(nil, ["XDG_RUNTIME_DIR": "/c"]) == "/c/gatewayd.sock")
    #expect(try choose(nil, ["XDG_RUNTIME_DIR": "/c"], exists: false) == "/run/gatewayd.sock")
    #expect(try choose(nil, [:]) == "/run/gatewayd.sock")
  }

  @Test func theDaemonOfAUserIsFoundWithoutAVariable() throws {
    var environment = Environment(variable: { _ in nil }, outputIsTerminal: false, errorsAreTerminal: false)
    environment.user = 1_000
    environment.fileExists = { $0 == "/run/user/1000/gatewayd.sock" }
    #expect(try SocketPath.choose(option: nil, environment: environment) == "/run/user/1000/gatewayd.sock")
    environment.user = 1_001
    #expect(try SocketPath.choose(option: nil, environment: environment) == "/run/gatewayd.sock")
  }

  @Test func theAdviceToStartADaemonNamesTheOneThatIsMeant() {
    let (machine, user) = ("'systemctl start gatewayd.socket'", "'systemctl --user start gatewayd.socket'")
    func start(_ path: String, _ option: String? = nil, _ variables: [String: String] = [:], user: UInt32 = 1_000)
      -> String
    {
      var environment = Environment(variable: { variables[$0] }, outputIsTerminal: false, errorsAreTerminal: false)
      environment.user = user
      return SocketPath.start(path, option: option, environment: environment)
    }
    let either = "start your own with \(user), or have the machine's started with \(machine)"
    #expect(start("/run/gatewayd.sock") == either)
    #expect(start("/run/gatewayd.sock", nil, ["XDG_RUNTIME_DIR": "/own"]) == either)
    #expect(start("/run/gatewayd.sock", user: 0) == "start it with \(machine)")
    #expect(start("/run/gatewayd.sock", "/run/gatewayd.sock") == "start it with \(machine)")
    #expect(start("/run/gatewayd.sock", nil, ["GATEWAYD_SOCKET": "/run/gatewayd.sock"]) == "start it with \(machine)")
    #expect(start("/run/user/1000/gatewayd.sock") == "start it with \(user)")
    #expect(start("/own/gatewayd.sock", nil, ["XDG_RUNTIME_DIR": "/own"]) == "start it with \(user)")
  }

  @Test func pathsThatNoSocketCanHaveAreRefused() throws {
    #expect(try choose(String(repeating: "a", count: 107), [:]).count == 107)
    #expect(throws: Failure.self) { try choose(String(repeating: "a", count: 108), [:]) }
    #expect(throws: Failure.self) { try choose("", [:]) }
  }

  @Test func everyCommandHasItsTimeLimit() throws {
    let environment = Environment(variable: { _ in nil }, outputIsTerminal: true, errorsAreTerminal: true)
    func settings(_ words: String...) throws -> Settings {
      let arguments = try CommandTable.parser.parse(words)
      return try Settings(
        arguments, of: CommandTable.command(arguments.command).specification, environment: environment)
    }
    #expect(try settings("ping").timeout == .seconds(5))
    #expect(try settings("request", "u", "e").timeout == .seconds(10))
    #expect(try settings("subscribe", "u").timeout == nil)
    #expect(try settings("subscribe", "u", "--timeout", "1s").timeout == .seconds(1))
    #expect(try settings("ping").isReadable)
    #expect(try !settings("ping", "--json").isReadable)
    #expect(throws: Failure.self) { try settings("ping", "-qv") }
  }
}
