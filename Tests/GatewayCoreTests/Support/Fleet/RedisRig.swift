@testable import GatewayCore

/// An engine whose servers the test plays.
final class RedisRig {
  let time = FakeTime()
  let timers: Timers
  let dialer = FakeTransportDialer()
  let engine: RedisEngine
  let listener = FleetEngineListener()
  let place = FleetPlace(fleet: "f", upstream: "u")
  var reports: [FleetReport] = []

  init(hosts: [String] = ["r1"], _ change: (inout RedisSettings) -> Void = { _ in }) {
    timers = Timers(time: time)
    var settings = RedisSettings(
      servers: hosts.map {
        DialRequest(
          secure: false, host: $0, port: 6_379, target: "", headers: [], tls: TLSSettings(), phaseLimit: .seconds(1),
          messageLimit: 1 << 20)
      })
    change(&settings)
    let credentials = FakeCredentials()
    credentials.files["/p"] = "secret\n"
    engine = RedisEngine(
      settings, dialer: dialer, credentials: credentials, timers: timers, random: FakeRandom())
    engine.add(listener)
    engine.onReport = { [unowned self] in reports.append($0) }
    engine.begin()
  }

  var last: FakeTransport { dialer.transports[dialer.transports.count - 1] }
  var calls: FakeTransport { dialer.transports[dialer.transports.count - 2] }

  func advance(_ duration: Duration) {
    let end = time.now + duration
    while let next = timers.nextDeadline, next <= end {
      time.now = max(time.now, next)
      timers.fire()
    }
    time.now = end
  }

  static func login(
    role: String = "master", version: String = "7.0.15", run: String = "run", loading: Int = 0,
    memory: String = "maxmemory:0\r\nmaxmemory_policy:noeviction", replicas: Int = 0,
    mode: String = "standalone", look: String = ""
  ) -> String {
    func bulk(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }
    let replica = "*3\r\n" + bulk("127.0.0.1") + bulk("1") + bulk("0")
    let list = "*\(replicas)\r\n" + String(repeating: replica, count: replicas)
    return "*3\r\n\(bulk(role)):0\r\n\(list)"
      + bulk("# Server\r\nredis_version:\(version)\r\nredis_mode:\(mode)\r\nrun_id:\(run)\r\n")
      + bulk("# Persistence\r\nloading:\(loading)\r\n") + bulk("# Memory\r\n\(memory)\r\n") + look + ":7\r\n"
  }

  /// The two connections are made.
  func gain(run: String = "run", replicas: Int = 0) {
    for _ in 0..<2 {
      last.open()
      say(Self.login(run: run, replicas: replicas))
    }
  }

  func say(_ text: String, to transport: FakeTransport? = nil) {
    (transport ?? last).receive(binary: Array(text.utf8))
  }

  /// The connection that waits gives the sign of life that it was asked for, if it was.
  func sayAlive() {
    if sent(on: last).last == "PING" { say("+PONG\r\n") }
  }

  /// What was sent on a connection since the last look, a command a line.
  func sent(on transport: FakeTransport) -> [String] {
    var lines: [String] = []
    let bytes = transport.takeSent().flatMap {
      $0.dropFirst().dropLast().split(separator: " ").compactMap { UInt8($0, radix: 16) }
    }
    let reader = RESPReader()
    try? reader.receive(bytes.span.bytes, opening: { 0 }) { nodes, bytes, _ in
      let words = nodes.compactMap { node -> String? in
        guard case .bulk(let range) = node else { return nil }
        return bytes.extracting(range).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      }
      lines.append(words.joined(separator: " "))
      return true
    }
    return lines
  }
}
