@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

/// Requests of a fleet's link, which may be written up to an instant only.
@Suite struct CurlBodyTests {
  /// More than two kernels keep for a connection.
  private static let large = 48 << 20
  private static let late = UpstreamFailure(.fleet, "this host may not write to the server any more")
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  /// A peer that reads a head, and what is behind it only when it is told. It notes the head, and then how the
  /// connection ended and whether the body was whole.
  private final class Reluctant {
    let peer: WebSocketPeer
    private let ends: (Int32, Int32)

    init() throws {
      let ends = try Descriptors.pair()
      self.ends = ends
      peer = try WebSocketPeer { peer, connection in
        peer.note(try connection.readHead())
        var word = pollfd(fd: ends.1, events: Int16(POLLIN), revents: 0)
        poll(&word, 1, 60_000)
        var left = CurlBodyTests.large >> 12
        do {
          while left > 0 {
            _ = try connection.read(4_096)
            left -= 1
          }
        } catch { peer.note(errno == ECONNRESET ? "reset" : "ended") }
        if left == 0 { peer.note("whole") }
      }
    }

    deinit { Descriptors.close(ends) }

    func goOn() { Descriptors.write(ends.0, "!") }
  }

  private static func post(_ port: UInt16, _ body: [UInt8], until limit: MonotonicInstant, secure: Bool = false)
    -> HTTPRequest
  {
    HTTPRequest(
      WebSocketDialing.request(port, secure: secure), body: body, answerLimit: .seconds(60), writeLimit: limit)
  }

  private func turn(_ requesting: HTTPRequesting, until condition: () -> Bool) throws {
    let end = requesting.loop.time.now + .seconds(60)
    while !condition() {
      try #require(requesting.loop.time.now < end)
      try requesting.loop.turn(sleepingAtMost: .milliseconds(10))
    }
  }

  /// A large body of which the server has read some, when the time for writing is over.
  private func lateUpload() throws -> (Reluctant, HTTPRequesting, any HTTPExchange) {
    let server = try Reluctant()
    let requesting = try HTTPRequesting()
    let now = requesting.loop.time.now
    let body = [UInt8](repeating: 1, count: Self.large)
    let exchange = requesting.start(Self.post(server.peer.port, body, until: now + .seconds(60)))
    try turn(requesting) { !server.peer.noted.isEmpty }
    exchange.mayWrite(until: requesting.loop.time.now)
    return (server, requesting, exchange)
  }

  @Test func nothingMoreOfABodyIsWrittenWhenTheTimeForWritingIsOver() throws {
    let (server, requesting, _) = try lateUpload()
    server.goOn()
    #expect(try requesting.run(until: 1))
    #expect(requesting.results == [.failure(Self.late)])
    try turn(requesting) { server.peer.noted.count > 1 }
    #expect(server.peer.noted[1] == "reset")
  }

  @Test func whatTheKernelHasOfACancelledPostIsForgottenWhenTheTimeForWritingIsOver() throws {
    let (server, requesting, exchange) = try lateUpload()
    exchange.cancel()
    server.goOn()
    try turn(requesting) { server.peer.noted.count > 1 }
    #expect(server.peer.noted[1] == "reset" && requesting.results.isEmpty)
  }

  @Test func aBodyGoesOnWhenTheTimeForWritingIsMoved() throws {
    let server = try Reluctant()
    let requesting = try HTTPRequesting()
    let body = [UInt8](repeating: 1, count: Self.large)
    let limit = requesting.loop.time.now + .seconds(1)
    let exchange = requesting.start(Self.post(server.peer.port, body, until: limit))
    exchange.mayWrite(until: limit + .seconds(60))
    try turn(requesting) { !server.peer.noted.isEmpty }
    try turn(requesting) { requesting.loop.time.now > limit }
    server.goOn()
    try turn(requesting) { server.peer.noted.count > 1 }
    #expect(server.peer.noted[1] == "whole")
  }

  @Test func theRestOfABodyThatWaitedIsGivenUpAtTheSameInstant() throws {
    let server = try Reluctant()
    let requesting = try HTTPRequesting()
    let body = [UInt8](repeating: 1, count: Self.large)
    let began = requesting.loop.time.now
    let limit = began + .seconds(60)
    let exchange = requesting.start(Self.post(server.peer.port, body, until: limit))
    try turn(requesting) { !server.peer.noted.isEmpty }
    exchange.mayWrite(until: limit)
    try turn(requesting) { requesting.loop.time.now > began + .milliseconds(300) }
    exchange.mayWrite(until: limit)
    server.goOn()
    var left: Int64?
    try turn(requesting) {
      left = Descriptors.unacknowledgedLimit(to: server.peer.port) ?? left
      return server.peer.noted.count > 1
    }
    #expect(server.peer.noted[1] == "whole")
    #expect(try #require(left) <= 59_800)
  }

  @Test func aRequestThatIsReadyTooLateIsNotWritten() throws {
    for body in [nil, [UInt8]("body".utf8)] {
      let peer = try WebSocketPeer { peer, connection in
        peer.note("connected")
        do { _ = try connection.read(1) } catch { return peer.note("nothing came") }
        peer.note("something came")
      }
      let requesting = try HTTPRequesting()
      var request = Self.post(peer.port, [], until: requesting.loop.time.now)
      request.body = body
      #expect(try requesting.failure(request) == Self.late)
      try turn(requesting) { peer.noted.count > 1 }
      #expect(peer.noted == ["connected", "nothing came"])
    }
  }

  @Test(arguments: [false, true])
  func aBodyThatIsHandedOutInPiecesArrivesAsItIs(secure: Bool) throws {
    let body = (0..<1_000_003).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let peer = try WebSocketPeer(tls: secure ? WebSocketPeerTLS() : nil) { peer, connection in
      while true {
        peer.note(try connection.readHead())
        let isWhole = try connection.read(body.count) == body
        peer.note(isWhole ? "whole" : "otherwise")
        try connection.write(Self.ok)
      }
    }
    let requesting = try HTTPRequesting()
    let request = Self.post(peer.port, body, until: requesting.loop.time.now + .seconds(60), secure: secure)
    for _ in 0..<2 { #expect(try requesting.result(request).map(\.status) == .success(200)) }
    let noted = peer.noted
    #expect(noted.count == 4 && noted[1] == "whole" && noted[3] == "whole")
    #expect(noted[0].contains("\r\nContent-Length: 1000003\r\n") && !noted[0].contains("Expect"))
  }

  @Test func aBodyThatIsHandedOutInPiecesIsNotRepeatedWhenAKeptConnectionEnds() throws {
    let peer = try WebSocketPeer { peer, connection in
      _ = try connection.readHead()
      _ = try connection.read(4)
      try connection.write(Self.ok)
      _ = try connection.readHead()
      peer.note("second")
      _ = try connection.read(4)
    }
    let requesting = try HTTPRequesting()
    let request = Self.post(peer.port, [UInt8]("body".utf8), until: requesting.loop.time.now + .seconds(60))
    _ = try requesting.result(request)
    #expect(
      try requesting.failure(request)
        == UpstreamFailure(.closed, "the server closed the connection before it answered the HTTP request"))
    #expect(peer.noted == ["second"])
  }
}
