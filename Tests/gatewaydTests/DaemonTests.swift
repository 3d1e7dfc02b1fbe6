import Glibc
import Testing

@testable import gatewayd

/// The real program from start to exit.
struct DaemonTests {
  private typealias Client = LocalClientFixture

  private func lines(_ client: Client, _ count: Int, of daemon: DaemonFixture) -> [String] {
    var lines: [String] = []
    _ = daemon.wait {
      lines += client.lines()
      return lines.count >= count || client.isEnded
    }
    return lines
  }

  @Test func itServesFromReadyUntilTheSignal() throws {
    let daemon = try DaemonFixture()
    #expect(daemon.notification().first == "READY=1")
    let client = try daemon.connect()
    client.send(Client.ping(1))
    #expect(lines(client, 1, of: daemon) == [Client.pong(1)])
    daemon.send(SIGTERM)
    #expect(daemon.notification() == ["STOPPING=1", "STATUS=stopping"])
    let last = lines(client, 9, of: daemon)
    #expect(last.count == 1)
    #expect(last.first?.contains(#""method":"goodbye""#) == true)
    #expect(daemon.exitStatus() == 0)
    #expect(daemon.directory.names == ["c.toml", "err", "notify", "out"])
  }

  @Test func statusFollowsTheClients() throws {
    let daemon = try DaemonFixture()
    let ready = daemon.notification()
    let client = try daemon.connect()
    let changed = daemon.notification()
    #expect(ready.last?.contains("0 clients") == true)
    #expect(changed.last?.contains("1 clients") == true)
    withExtendedLifetime(client) {}
  }

  @Test func aReloadIsAnnouncedAndARefusedOneKeepsTheOldConfiguration() throws {
    let daemon = try DaemonFixture(configuration: "[limits]\nline = \"2MiB\"\n")
    #expect(daemon.notification().first == "READY=1")
    daemon.send(SIGHUP)
    #expect(daemon.notification().first == "RELOADING=1")
    #expect(daemon.notification().first == "READY=1")
    let file = open(daemon.directory / "c.toml", O_WRONLY | O_CLOEXEC | O_TRUNC)
    Descriptors.write(file, "[limits]\nlien = \"1MiB\"\n")
    close(file)
    daemon.send(SIGHUP)
    #expect(daemon.notification().first == "RELOADING=1")
    let refused = daemon.notification()
    #expect(refused.first == "READY=1")
    #expect(refused.last?.contains("configuration refused: ") == true)
    #expect(refused.last?.contains("c.toml:2: ") == true)
    let client = try daemon.connect()
    client.send(#"{"jsonrpc":"2.0","id":1,"method":"hello"}"# + "\n")
    #expect(lines(client, 1, of: daemon).first?.contains(#""line":2097152"#) == true)
    #expect(daemon.complaints.contains("error configuration refused, the old one stays in force file="))
  }

  @Test func itDoesNotExitBeforeItsLinksHaveSaidGoodbye() throws {
    let peer = try WebSocketPeer { peer, connection in
      try connection.upgrade()
      try connection.send(
        text: #"0{"sid":"e","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000}"#)
      peer.note(try connection.readMessage().text)
      try connection.send(text: #"40{"sid":"s"}"#)
      peer.note(try connection.readMessage().text)
      let close = try connection.readMessage()
      peer.note("close \(close.closeCode)")
      usleep(200_000)
      peer.note(connection.hasHungUp ? "gone" : "waits")
      try connection.sendClose(1_000)
      connection.awaitEnd()
    }
    let daemon = try DaemonFixture(configuration: "[upstream.u]\nurl = \"http://127.0.0.1:\(peer.port)\"\n")
    let client = try daemon.connect()
    client.send(#"{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"upstream":"u","state":true}}"# + "\n")
    var told = ""
    #expect(
      daemon.wait {
        told += client.lines().joined()
        return told.contains(#""state":"connected""#)
      })
    daemon.send(SIGTERM)
    #expect(daemon.exitStatus() == 0)
    #expect(daemon.wait { peer.noted.count >= 4 })
    #expect(peer.noted == ["40", "41", "close 1000", "waits"])
  }

  @Test func aSecondSignalEndsItAtOnce() throws {
    let daemon = try DaemonFixture(configuration: "[limits]\nstop = \"1h\"\n")
    #expect(daemon.notification().first == "READY=1")
    let client = try daemon.connect()
    // Replies that no client reads hold the orderly stop up.
    let calls = (0..<1_000).map(Client.ping).joined()
    var idle = 0
    #expect(
      daemon.wait {
        idle = client.send(calls) == 0 ? idle + 1 : 0
        return idle == 40
      })
    daemon.send(SIGTERM)
    #expect(daemon.wait { daemon.complaints.contains("stopping") })
    usleep(100_000)
    #expect(UnixSocket.probe(daemon.socketPath) == .alive)
    daemon.send(SIGINT)
    #expect(daemon.exitStatus() == 0)
  }

  @Test func aSocketFromSystemdIsUsedAndLeftAlone() throws {
    let directory = try TemporaryDirectory()
    let listener = try UnixSocket.make()
    defer { close(listener) }
    try UnixSocket.bind(listener, to: directory / "s")
    try UnixSocket.listen(listener)
    let daemon = try DaemonFixture(
      "--config %/c.toml --socket %/unused",
      preparation: "export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=control", passing: listener, in: directory)
    #expect(daemon.notification().first == "READY=1")
    let client = try daemon.connect()
    client.send(Client.ping(1))
    #expect(lines(client, 1, of: daemon) == [Client.pong(1)])
    daemon.send(SIGTERM)
    #expect(daemon.exitStatus() == 0)
    #expect(directory.names == ["c.toml", "err", "notify", "out", "s"])
    // A client that comes now waits for the next daemon.
    #expect(UnixSocket.probe(directory / "s") == .alive)
  }

  @Test func aSecondDaemonIsTurnedAway() throws {
    let first = try DaemonFixture()
    #expect(first.notification().first == "READY=1")
    let second = try DaemonFixture("--config %/c.toml --socket \(first.socketPath)")
    #expect(second.exitStatus() == 69)
    #expect(second.complaints.hasPrefix("gatewayd: another gatewayd listens on \(first.socketPath)"))
    let client = try first.connect()
    client.send(Client.ping(1))
    #expect(lines(client, 1, of: first) == [Client.pong(1)])
  }

  @Test func aWrongCommandLineAndAWrongConfigurationHaveTheirOwnStatus() throws {
    let usage = try DaemonFixture("--sockte /x")
    #expect(usage.exitStatus() == 64)
    #expect(usage.complaints.hasPrefix("gatewayd: unknown option --sockte: did you mean --socket?\nusage: gatewayd "))
    let wrong = try DaemonFixture(configuration: "[limit]\n[log]\nlevel = \"loud\"\n")
    #expect(wrong.exitStatus() == 78)
    #expect(wrong.complaints.split(separator: "\n").count == 2)
    let check = try DaemonFixture(
      "--check-config --config %/c.toml", configuration: "[upstream.a]\nurl = \"http://h\"\n")
    #expect(check.exitStatus() == 0)
    #expect(check.output.contains("upstreams: 1"))
    #expect(check.complaints == "")
  }

  @Test func withoutDescriptorsNewcomersAreToldAndTheRestGoesOn() throws {
    let daemon = try DaemonFixture(preparation: "ulimit -n 40")
    let first = try daemon.connect()
    first.send(Client.ping(1))
    #expect(lines(first, 1, of: daemon) == [Client.pong(1)])
    var clients = try (0..<60).map { _ in try daemon.connect() }
    var refused: [String] = []
    #expect(
      daemon.wait {
        for client in clients { refused += client.lines() }
        return refused.count >= 20
      })
    #expect(refused.allSatisfy { $0.contains("\"type\":\"QuotaExceeded\"") && $0.contains("file descriptor") })
    first.send(Client.ping(2))
    #expect(lines(first, 1, of: daemon) == [Client.pong(2)])
    let before = daemon.ticks
    usleep(300_000)
    #expect(daemon.ticks - before <= 3)
    #expect(daemon.complaints.contains("error no file descriptor left for a new client"))
    clients = []
    // The first to come again may still find the old ones' descriptors in use.
    #expect(
      daemon.wait {
        guard let late = try? daemon.connect() else { return false }
        late.send(Client.ping(3))
        return lines(late, 1, of: daemon) == [Client.pong(3)]
      })
  }
}
