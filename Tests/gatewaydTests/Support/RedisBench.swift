@testable import GatewayCore
import Testing

@testable import gatewayd

/// Engines on real Redis servers, on one loop.
final class RedisBench: FleetEngineBench {
  let server: RedisServer
  private let dialing: WebSocketDialing
  private let credentials = Passwords()
  private(set) var engines: [RedisEngine] = []

  var engine: any FleetEngine { engines[0] }
  var other: any FleetEngine { engines[1] }
  var run: String { engines[0].server?.run ?? "" }
  var loop: EventLoop { dialing.loop }
  var servers: [DialRequest] { [request(server)] }

  /// With two engines, or another number, that have reached the server. `change` changes what each of them is told.
  init(
    _ server: RedisServer? = nil, secure: Bool = false, engines count: Int = 2,
    _ change: (inout RedisSettings) -> Void = { _ in }
  ) throws {
    self.server = try server ?? RedisServer(isSecure: secure)
    dialing = try WebSocketDialing(carrying: .resp)
    var settings = RedisSettings(servers: [])
    settings.servers = [request(self.server, secure: secure)]
    change(&settings)
    for _ in 0..<count { engines.append(engine(settings)) }
    for engine in engines { engine.begin() }
    #expect(try goOn { engines.allSatisfy { $0.server != nil } })
  }

  deinit { for engine in engines { engine.close() } }

  /// One that has not begun.
  func engine(_ settings: RedisSettings) -> RedisEngine {
    RedisEngine(
      settings, dialer: dialing.dialer, credentials: credentials, timers: loop.timers, random: SystemRandom())
  }

  /// What a file holds that has this path.
  func set(password: String, at path: String) { credentials.files[path] = password }

  func request(_ server: RedisServer, secure: Bool = false) -> DialRequest {
    var request = WebSocketDialing.request(server.port, host: secure ? "localhost" : "127.0.0.1", secure: secure)
    request.phaseLimit = .seconds(5)
    return request
  }

  func goOn(until condition: () -> Bool) throws -> Bool { try dialing.run(within: .seconds(20), until: condition) }

  /// Passwords by path.
  private final class Passwords: CredentialReader {
    var files: [String: String] = [:]

    func read(
      _ request: SecretRequest, while isWanted: @escaping () -> Bool,
      _ done: @escaping (Result<[UInt8], CredentialProblem>) -> Void
    ) {
      guard case .file(let path) = request.source, let text = files[path] else {
        return done(.failure(CredentialProblem("there is no such file")))
      }
      done(.success(Array(text.utf8)))
    }

    func version(of source: SecretSource) -> SecretVersion? { nil }
  }
}
