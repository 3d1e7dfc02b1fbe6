@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

/// Proxies as a scripted peer plays them; behind an open way the same peer is the server.
@Suite struct ProxyTests {
  enum Way: CaseIterable { case webSocket, http }

  private static func request(
    through port: UInt16, _ kind: ProxyServer.Kind, login: (String, String)? = nil, host: String = "far.test",
    secure: Bool = false
  ) -> DialRequest {
    var request = WebSocketDialing.request(4_321, host: host, secure: secure)
    request.proxy.choice = .server(
      ProxyServer(kind: kind, host: "127.0.0.1", port: port, user: login?.0, password: login?.1))
    return request
  }

  private static func failure(_ way: Way, _ request: DialRequest) throws -> UpstreamFailure? {
    switch way {
    case .webSocket: try WebSocketDialing().failure(request).failure
    case .http: try HTTPRequesting().failure(HTTPRequesting.request(request))
    }
  }

  /// Answers whichever request comes as a server would.
  private static func serve(_ peer: WebSocketPeer, _ connection: WebSocketPeer.Connection) throws {
    let head = try connection.readHead()
    peer.note(head)
    guard head.contains("Upgrade: websocket") else {
      return try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }
    let key = head.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") }?.dropFirst(19)
    try connection.write(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
        + WebSocketKey(text: String(key ?? "")).expectedAccept + "\r\n\r\n")
    connection.awaitEnd()
  }

  private static func open(_ way: Way, _ request: DialRequest) throws -> String? {
    switch way {
    case .webSocket:
      let dialing = try WebSocketDialing()
      #expect(try dialing.open(request) == nil)
      return dialing.opened.first?.proxy
    case .http:
      let result = try HTTPRequesting().result(HTTPRequesting.request(request))
      #expect(result.map(\.body) == .success(Array("ok".utf8)))
      return try result.get().proxy
    }
  }

  // MARK: - HTTP CONNECT

  @Test(arguments: Way.allCases) func httpProxyOpensATunnelForServersWithoutTLSToo(way: Way) throws {
    let peer = try WebSocketPeer { peer, connection in
      peer.note(try connection.readHead())
      try connection.write("HTTP/1.1 200 Connection established\r\n\r\n")
      try Self.serve(peer, connection)
    }
    let proxy = try Self.open(way, Self.request(through: peer.port, .http, login: ("us er", "p:w%")))
    #expect(proxy == "127.0.0.1:\(peer.port)")
    let noted = peer.noted
    #expect(noted.first?.hasPrefix("CONNECT far.test:4321 HTTP/1.1\r\n") == true)
    #expect(noted.first?.contains("\r\nProxy-Authorization: Basic dXMgZXI6cDp3JQ==\r\n") == true)
    #expect(noted.first?.contains("X-Test") == false, "the upstream's headers are not the proxy's")
    #expect(noted.last?.contains("\r\nX-Test: yes\r\n") == true && noted.last?.contains("Proxy-") == false)
  }

  @Test(arguments: Way.allCases, [407, 403, 502]) func refusedTunnelIsReportedWithItsStatus(
    way: Way, status: Int
  ) throws {
    let peer = try WebSocketPeer { _, connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 \(status) No\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody")
    }
    let detail =
      status == 407
      ? "the proxy 127.0.0.1:\(peer.port) wants a user and a password, or others than the configured ones (HTTP 407)"
      : "the proxy 127.0.0.1:\(peer.port) refused to open the way to far.test:4321 (HTTP \(status))"
    let failure = try Self.failure(way, Self.request(through: peer.port, .http))
    #expect(failure == UpstreamFailure(.unreachable, detail, status: status))
  }

  @Test(arguments: Way.allCases) func proxyThatHangsUpIsSaidSo(way: Way) throws {
    let peer = try WebSocketPeer { _, connection in _ = try connection.readHead() }
    let failure = try Self.failure(way, Self.request(through: peer.port, .http))
    let detail = "the proxy 127.0.0.1:\(peer.port) closed the connection before the way to far.test:4321 was open"
    #expect(failure == UpstreamFailure(.unreachable, detail))
  }

  @Test(arguments: Way.allCases) func silentProxyIsATimeoutOfThatPhase(way: Way) throws {
    let peer = try WebSocketPeer { _, connection in connection.awaitEnd() }
    var request = Self.request(through: peer.port, .http)
    request.phaseLimit = .milliseconds(200)
    let detail = "the proxy 127.0.0.1:\(peer.port) did not open the way to far.test:4321 within 200 ms"
    #expect(try Self.failure(way, request) == UpstreamFailure(.timeout, detail))
  }

  @Test(arguments: Way.allCases, ProxyServer.Kind.allCases) func unreachableProxyIsNamed(
    way: Way, kind: ProxyServer.Kind
  ) throws {
    let closed = try ClosedPort()
    let failure = try Self.failure(way, Self.request(through: closed.port, kind, host: "127.0.0.1"))
    #expect(
      failure
        == UpstreamFailure(.unreachable, "no connection to the proxy 127.0.0.1:\(closed.port): connection refused"))
  }

  @Test(arguments: Way.allCases) func unknownProxyIsNamed(way: Way) throws {
    var request = Self.request(through: 1, .http)
    request.proxy.choice = .server(ProxyServer(kind: .http, host: "no-such-proxy.invalid", port: 3_128))
    let detail = "the name of the proxy no-such-proxy.invalid:3128 cannot be resolved"
    #expect(try Self.failure(way, request) == UpstreamFailure(.unreachable, detail))
  }

  // MARK: - SOCKS

  /// What a client with a login says to a SOCKS proxy until it asks for the way.
  private static func login(
    _ connection: WebSocketPeer.Connection, _ answer: UInt8, _ note: (String) -> Void = { _ in }
  ) throws {
    let greeting = try connection.read(2)
    _ = try connection.read(Int(greeting[1]))
    try connection.write([5, 2])
    let user = try connection.read(Int(try connection.read(2)[1]))
    let password = try connection.read(Int(try connection.read(1)[0]))
    note(String(decoding: user + [UInt8(ascii: ":")] + password, as: UTF8.self))
    try connection.write([1, answer])
  }

  @Test(arguments: Way.allCases) func socksProxyTakesALoginAndTheServersName(way: Way) throws {
    let peer = try WebSocketPeer { peer, connection in
      try Self.login(connection, 0, peer.note)
      let head = try connection.read(5)
      peer.note("\(head)" + String(decoding: try connection.read(Int(head[4])), as: UTF8.self))
      _ = try connection.read(2)
      try connection.write([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
      try Self.serve(peer, connection)
    }
    let proxy = try Self.open(way, Self.request(through: peer.port, .socks5h, login: ("user", "word")))
    #expect(proxy == "127.0.0.1:\(peer.port)")
    #expect(Array(peer.noted.prefix(2)) == ["user:word", "[5, 1, 0, 3, 8]far.test"])
  }

  @Test(arguments: Way.allCases) func refusedLoginIsSaidSo(way: Way) throws {
    let peer = try WebSocketPeer { _, connection in
      try Self.login(connection, 1)
      connection.awaitEnd()
    }
    let failure = try Self.failure(way, Self.request(through: peer.port, .socks5h, login: ("user", "word")))
    let detail = "the proxy 127.0.0.1:\(peer.port) did not accept the user and the password"
    #expect(failure == UpstreamFailure(.unreachable, detail))
  }

  @Test(arguments: Way.allCases) func missingLoginIsSaidSo(way: Way) throws {
    let peer = try WebSocketPeer { _, connection in
      let greeting = try connection.read(2)
      _ = try connection.read(Int(greeting[1]))
      try connection.write([5, 0xff])
      connection.awaitEnd()
    }
    let failure = try Self.failure(way, Self.request(through: peer.port, .socks5h))
    #expect(
      failure
        == UpstreamFailure(.unreachable, "the proxy 127.0.0.1:\(peer.port) wants a user and a password"))
  }

  static let refusals: [(UInt8, String)] = [
    (1, "it failed"), (2, "its rules do not allow it"), (3, "the network is unreachable from there"),
    (4, "the host is unreachable from there"), (5, "the connection was refused"),
  ]

  @Test(arguments: Way.allCases, refusals) func refusalOfASocksProxyIsPutInWords(
    way: Way, refusal: (code: UInt8, words: String)
  ) throws {
    let peer = try WebSocketPeer { _, connection in
      let greeting = try connection.read(2)
      _ = try connection.read(Int(greeting[1]))
      try connection.write([5, 0])
      let head = try connection.read(5)
      _ = try connection.read(Int(head[4]) + 2)
      try connection.write([5, refusal.code, 0, 1, 0, 0, 0, 0, 0, 0])
      connection.awaitEnd()
    }
    let failure = try Self.failure(way, Self.request(through: peer.port, .socks5h))
    let detail = "the proxy 127.0.0.1:\(peer.port) did not open the way to far.test:4321: \(refusal.words)"
    #expect(failure == UpstreamFailure(.unreachable, detail))
  }

  @Test(arguments: Way.allCases) func proxyThatIsNotSocksIsSaidSo(way: Way) throws {
    let peer = try WebSocketPeer { _, connection in
      _ = try connection.read(2)
      try connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
      connection.awaitEnd()
    }
    let failure = try Self.failure(way, Self.request(through: peer.port, .socks5h))
    #expect(failure == UpstreamFailure(.unreachable, "the proxy 127.0.0.1:\(peer.port) does not speak SOCKS 5"))
  }

  // MARK: - Passwords in files

  @Test func passwordComesFromTheFileOfThatMoment() throws {
    let peer = try WebSocketPeer { peer, connection in
      try Self.login(connection, 1, peer.note)
    }
    let folder = try TemporaryDirectory()
    let file = folder.path + "/password"
    var request = Self.request(through: peer.port, .socks5h, login: ("user", ""))
    request.proxy.passwordFile = file
    let missing = try #require(try Self.failure(.webSocket, request))
    #expect(missing.reason == .auth && missing.detail.contains(file))
    for password in ["one", "two"] {
      let stream = fopen(file, "w")
      fputs(password + "\n", stream)
      fclose(stream)
      _ = try Self.failure(.http, request)
    }
    #expect(peer.noted == ["user:one", "user:two"])
  }
}
