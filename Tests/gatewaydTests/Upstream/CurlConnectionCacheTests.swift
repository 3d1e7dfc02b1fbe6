import CCurl
import GatewayCore
import Testing

@testable import gatewayd

/// Connections that stay open, beside many others.
@Suite struct CurlConnectionCacheTests {
  /// A server that says whatever it is told.
  private func echo(_ tls: WebSocketPeerTLS? = nil) throws -> WebSocketPeer {
    try WebSocketPeer(tls: tls) { _, connection in
      while true { try connection.write(connection.read(1)) }
    }
  }

  private func open(_ count: Int, to request: DialRequest, on dialing: WebSocketDialing) throws -> [CurlConnection] {
    var made = 0
    let connections = try (0..<count).map { _ in
      try CurlConnection(dialing.context.multi, to: request) {
        #expect($0 == nil)
        made += 1
      }
    }
    #expect(try dialing.run { made == count })
    return connections
  }

  /// What the server answers to one byte.
  private func answer(_ byte: UInt8, _ connection: CurlConnection, on dialing: WebSocketDialing) throws -> UInt8 {
    #expect([byte].withUnsafeBytes { connection.send($0) } == .bytes(1))
    var answer = [UInt8](repeating: 0, count: 16)
    #expect(try dialing.run { answer.withUnsafeMutableBytes { connection.receive(into: $0) } == .bytes(1) })
    return answer[0]
  }

  @Test(arguments: [false, true])
  func eachOfManyIsFoundAmongAFew(isSecure: Bool) throws {
    let dialing = try WebSocketDialing()
    let multi = dialing.context.multi
    let first = try #require(multi.cacheWithRoom())
    let peer = try echo(isSecure ? WebSocketPeerTLS() : nil)
    var connections = try open(20, to: WebSocketDialing.request(peer.port, secure: isSecure), on: dialing)
    #expect(first.isFull && first.count == CurlConnectionCache.limit)
    // What handles use cannot be changed: so it is seen that they do.
    #expect(gw_share_connections(first.share) == 0)
    #expect(multi.cacheWithRoom()?.count == 20 % CurlConnectionCache.limit)
    for (number, connection) in connections.enumerated() {
      #expect(try answer(UInt8(number), connection, on: dialing) == UInt8(number))
    }
    // Others of its cache go.
    connections.removeSubrange(1..<CurlConnectionCache.limit)
    #expect(first.count == 1)
    for connection in connections { #expect(try answer(7, connection, on: dialing) == 7) }
    connections = []
    #expect(first.count == 0)
    #expect(gw_share_connections(first.share) != 0)
  }

  @Test func aCacheGoesWithItsLastConnection() throws {
    let dialing = try WebSocketDialing()
    weak var cache = dialing.context.multi.cacheWithRoom()
    #expect(cache == nil)
    let peer = try echo()
    var connections = try open(2, to: WebSocketDialing.request(peer.port), on: dialing)
    cache = dialing.context.multi.cacheWithRoom()
    #expect(cache?.count == connections.count)
    connections = []
    #expect(cache == nil)
  }
}
