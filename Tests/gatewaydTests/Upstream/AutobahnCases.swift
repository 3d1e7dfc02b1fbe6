@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

/// The daemon's own WebSocket as a client of the Autobahn test suite's server, which judges it: `make autobahn`.
@Suite struct AutobahnCases {
  /// Where that server listens.
  private static let port = getenv("GATEWAY_AUTOBAHN_PORT").flatMap { UInt16(String(cString: $0)) }

  private static func dial(_ target: String) throws -> WebSocketDialing {
    let dialing = try WebSocketDialing(closeLimit: .seconds(5))
    var request = WebSocketDialing.request(try #require(port))
    request.target = target
    request.messageLimit = 64 << 20
    request.compressionThreshold = 0
    dialing.dial(request)
    return dialing
  }

  @Test(.enabled(if: port != nil)) func everyMessageOfEveryCaseIsEchoed() throws {
    let counting = try Self.dial("/getCaseCount")
    try counting.run { !counting.closed.isEmpty }
    let count = try #require(counting.texts.first.flatMap { Int($0) })
    for number in 1...count { try Self.run("/runCase?case=\(number)&agent=gatewayd") }
    try Self.run("/updateReports?agent=gatewayd")
  }

  private static func run(_ target: String) throws {
    let dialing = try dial(target)
    dialing.onText = { [unowned dialing] in dialing.send($0) }
    dialing.onBinary = { [unowned dialing] in dialing.send($0) }
    #expect(try dialing.run(within: .seconds(300)) { !dialing.closed.isEmpty }, "\(target)")
    try dialing.becomeQuiet()
  }
}
