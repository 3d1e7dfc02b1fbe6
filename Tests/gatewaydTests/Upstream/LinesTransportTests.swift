import CCurl
@testable import GatewayCore
import Testing

@testable import gatewayd

/// What is read of a connection with lines before anybody hears that it is open.
@Suite struct LinesTransportTests {
  @Test func whyTheFirstReadFailedIsWhyTheConnectionEnded() throws {
    let tls = try WebSocketPeerTLS(newestVersion: TLS1_2_VERSION, breaksOff: true)
    let peer = try WebSocketPeer(tls: tls) { _, connection in _ = try connection.read(1) }
    let failure = try WebSocketDialing(carrying: .lines).failure(WebSocketDialing.request(peer.port, secure: true))
      .failure
    #expect(failure.detail.contains("cipher operation failed"), "\(failure.detail)")
  }
}
