@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

/// HTTP exchanges with a real peer.
@Suite struct CurlRequesterTests {
  private static func answer(_ body: String, _ headers: String = "", status: String = "200 OK") -> String {
    "HTTP/1.1 \(status)\r\n\(headers)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  /// A peer that answers every request of a connection with the same text.
  private func peer(answering text: String) throws -> WebSocketPeer {
    try WebSocketPeer { peer, connection in
      peer.note("connected")
      while true {
        let head = try connection.readHead()
        peer.note(head)
        if let length = head.split(separator: "\r\n").first(where: { $0.hasPrefix("Content-Length: ") })?.dropFirst(16)
        {
          peer.note(String(decoding: try connection.read(Int(length) ?? 0), as: UTF8.self))
        }
        try connection.write(text)
      }
    }
  }

  @Test func getCollectsStatusHeadersAndBody() throws {
    let peer = try peer(
      answering: Self.answer("hello", "Set-Cookie: a=b; Path=/\r\nX-Two:  spaced \r\n", status: "404 No"))
    let requesting = try HTTPRequesting()
    let result = try requesting.result(HTTPRequesting.request(WebSocketDialing.request(peer.port)))
    let headers = [
      HTTPHeader(name: "set-cookie", value: "a=b; Path=/"), HTTPHeader(name: "x-two", value: "spaced"),
      HTTPHeader(name: "content-length", value: "5"),
    ]
    #expect(result == .success(HTTPResponse(status: 404, headers: headers, body: Array("hello".utf8))))
    let head = try #require(peer.noted.last)
    #expect(head.hasPrefix("GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: 127.0.0.1:\(peer.port)\r\n"))
    #expect(head.contains("\r\nX-Test: yes\r\n"))
    #expect(head.contains("\r\nUser-Agent: gatewayd/\(GatewayVersion.current)\r\n"))
    #expect(!head.contains("Accept-Encoding") && !head.contains("Expect"))
    #expect(requesting.requester.count == 0)
  }

  @Test func aBodyWhoseEveryByteIsAChunkIsNotTakenByteByByte() throws {
    let body = (0..<20_000).map { UInt8(ascii: "a") + UInt8($0 % 26) }
    let chunks = body.map { "1\r\n\(Character(UnicodeScalar($0)))\r\n" }.joined()
    let peer = try peer(answering: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)0\r\n\r\n")
    let loop = try HTTPRequesting().loop
    let easy = try CurlEasy(CurlMulti(loop: loop, environment: { _ in nil }))
    try easy.configure(WebSocketDialing.request(peer.port))
    try easy.listenToExchange()
    var (came, pieces, most, isOver): ([UInt8], Int, Int, Bool) = ([], 0, 0, false)
    easy.onBody = {
      came += $0
      pieces += 1
      return .goOn
    }
    easy.onDone = {
      #expect($0 == nil)
      isOver = true
    }
    try easy.start(CurlEasy.Limits(connecting: .seconds(30), answer: .seconds(30)))
    while !isOver {
      pieces = 0
      try loop.turn(sleepingAtMost: .milliseconds(10))
      most = max(most, pieces)
    }
    #expect(came == body)
    #expect(most <= 3 * CurlEasy.piecesAtOnce)
  }

  @Test func postCarriesItsLengthAndType() throws {
    let peer = try peer(answering: Self.answer("ok"))
    let requesting = try HTTPRequesting()
    let body = String(repeating: "x", count: 2_000_000)
    let request = HTTPRequesting.request(
      WebSocketDialing.request(peer.port), body: body, type: "text/plain;charset=UTF-8")
    #expect(try requesting.result(request).map(\.status) == .success(200))
    let noted = peer.noted
    #expect(noted[1].hasPrefix("POST /socket.io/"))
    #expect(noted[1].contains("\r\nContent-Type: text/plain;charset=UTF-8\r\n"))
    #expect(noted[1].contains("\r\nContent-Length: 2000000\r\n") && !noted[1].contains("Expect"))
    #expect(noted[2] == body)
  }

  @Test func emptyPostHasLengthZero() throws {
    let peer = try peer(answering: Self.answer("ok"))
    let request = HTTPRequesting.request(WebSocketDialing.request(peer.port), body: "")
    #expect(try HTTPRequesting().result(request).map(\.status) == .success(200))
    let head = peer.noted[1]
    #expect(head.contains("\r\nContent-Length: 0\r\n") && !head.contains("Content-Type"))
  }

  @Test func headersOfTheCallerReplaceOurOwn() throws {
    let peer = try peer(answering: Self.answer("ok"))
    var dial = WebSocketDialing.request(peer.port)
    dial.headers = [HTTPHeader(name: "user-agent", value: "mine"), HTTPHeader(name: "X-Empty", value: "")]
    _ = try HTTPRequesting().result(HTTPRequesting.request(dial))
    let head = peer.noted[1]
    #expect(
      head.contains("\r\nuser-agent: mine\r\n") && head.contains("\r\nX-Empty:\r\n") && !head.contains("gatewayd/"))
  }

  @Test func exchangesInSequenceShareOneConnection() throws {
    let peer = try peer(answering: Self.answer("ok"))
    let requesting = try HTTPRequesting()
    for _ in 0..<5 { _ = try requesting.result(HTTPRequesting.request(WebSocketDialing.request(peer.port))) }
    #expect(peer.noted.filter { $0 == "connected" }.count == 1)
  }

  @Test func chunkedAnswerIsPutTogether() throws {
    let peer = try peer(
      answering: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
    let result = try HTTPRequesting().result(HTTPRequesting.request(WebSocketDialing.request(peer.port)))
    #expect(result.map(\.body) == .success(Array("abcde".utf8)))
  }

  @Test func redirectIsHandedBackAndNotFollowed() throws {
    let peer = try peer(answering: Self.answer("", "Location: /elsewhere\r\n", status: "302 Found"))
    let result = try HTTPRequesting().result(HTTPRequesting.request(WebSocketDialing.request(peer.port)))
    #expect(result.map(\.status) == .success(302))
  }

  @Test func interimResponsesAreNoAnswer() throws {
    let peer = try peer(answering: "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n" + Self.answer("ok"))
    let result = try HTTPRequesting().result(HTTPRequesting.request(WebSocketDialing.request(peer.port)))
    #expect(result.map { $0.headers.map(\.name) } == .success(["content-length"]))
  }

  // MARK: - Limits

  @Test func answerBeyondTheLimitEndsTheExchange() throws {
    let peer = try peer(answering: Self.answer(String(repeating: "x", count: 101)))
    var dial = WebSocketDialing.request(peer.port)
    dial.messageLimit = 100
    let failure = try HTTPRequesting().failure(HTTPRequesting.request(dial))
    #expect(failure == UpstreamFailure(.tooLarge, "the server's answer is larger than 100 bytes"))
  }

  @Test func endlessHeadEndsTheExchange() throws {
    let line = "X-Filler: " + String(repeating: "x", count: 1_000) + "\r\n"
    let peer = try peer(answering: Self.answer("", String(repeating: line, count: 20)))
    let failure = try HTTPRequesting().failure(HTTPRequesting.request(WebSocketDialing.request(peer.port)))
    #expect(failure == UpstreamFailure(.protocolError, "the server's HTTP header is longer than 16 KiB"))
  }

  @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"]) func silenceIsATimeoutOfTheAnswer(
    beginning: String
  ) throws {
    let peer = try WebSocketPeer { _, connection in
      _ = try connection.readHead()
      try connection.write(beginning)
      connection.awaitEnd()
    }
    let request = HTTPRequesting.request(WebSocketDialing.request(peer.port), answerLimit: .milliseconds(200))
    let failure = try HTTPRequesting().failure(request)
    #expect(
      failure == UpstreamFailure(.timeout, "127.0.0.1:\(peer.port) did not answer the HTTP request in time"))
  }

  @Test func cancelledExchangeIsNeverHeardOfAndFreesItsConnection() throws {
    let peer = try WebSocketPeer { peer, connection in
      _ = try connection.readHead()
      peer.note("asked")
      connection.awaitEnd()
      peer.note("gone")
    }
    let requesting = try HTTPRequesting()
    let exchange = requesting.start(HTTPRequesting.request(WebSocketDialing.request(peer.port)))
    let end = requesting.loop.time.now + .seconds(60)
    while peer.noted.isEmpty, requesting.loop.time.now < end {
      try requesting.loop.turn(sleepingAtMost: .milliseconds(10))
    }
    exchange.cancel()
    exchange.cancel()
    while peer.noted.count < 2, requesting.loop.time.now < end {
      try requesting.loop.turn(sleepingAtMost: .milliseconds(10))
    }
    #expect(peer.noted == ["asked", "gone"])
    #expect(requesting.results.isEmpty && requesting.requester.count == 0)
  }

  // MARK: - Failures

  @Test func requestIsNotRepeatedWhenAKeptConnectionEnds() throws {
    let peer = try WebSocketPeer { peer, connection in
      _ = try connection.readHead()
      try connection.write(Self.answer("ok"))
      _ = try connection.readHead()
      peer.note("second")
    }
    let requesting = try HTTPRequesting()
    let request = HTTPRequesting.request(WebSocketDialing.request(peer.port), body: "")
    _ = try requesting.result(request)
    let failure = try requesting.failure(request)
    #expect(
      failure
        == UpstreamFailure(.closed, "the server closed the connection before it answered the HTTP request"))
    #expect(peer.noted == ["second"])
  }

  @Test func connectionThatNobodyUsesIsClosedAfterSomeSeconds() throws {
    let peer = try WebSocketPeer { peer, connection in
      _ = try connection.readHead()
      try connection.write(Self.answer("ok"))
      peer.note("answered")
      connection.awaitEnd()
      peer.note("gone")
    }
    let requesting = try HTTPRequesting()
    _ = try requesting.result(HTTPRequesting.request(WebSocketDialing.request(peer.port)))
    let start = requesting.loop.time.now
    while peer.noted.last != "gone", requesting.loop.time.now < start + .seconds(30) {
      try requesting.loop.turn(sleepingAtMost: .milliseconds(50))
    }
    #expect(peer.noted == ["answered", "gone"])
    #expect(requesting.loop.time.now - start >= .seconds(CurlSweep.idleLimit))
  }

  @Test func connectionThatNobodyUsesIsClosedThoughOthersAreDialledAllTheTime() throws {
    let peer = try WebSocketPeer { peer, connection in
      _ = try connection.readHead()
      try connection.write(Self.answer("ok"))
      connection.awaitEnd()
      peer.note("gone")
    }
    let other = try WebSocketPeer { _, connection in connection.awaitEnd() }
    let requesting = try HTTPRequesting()
    _ = try requesting.result(HTTPRequesting.request(WebSocketDialing.request(peer.port)))
    let start = requesting.loop.time.now
    var (dialled, last): (CurlConnection?, MonotonicInstant) = (nil, start)
    while peer.noted.isEmpty, requesting.loop.time.now < start + .seconds(30) {
      if requesting.loop.time.now >= last + .milliseconds(500) {
        last = requesting.loop.time.now
        dialled = try CurlConnection(requesting.multi, to: WebSocketDialing.request(other.port)) { #expect($0 == nil) }
      }
      try requesting.loop.turn(sleepingAtMost: .milliseconds(50))
    }
    #expect(peer.noted == ["gone"])
    #expect(dialled != nil)
  }

  @Test func pipeInACertificatesPlaceStopsNobody() throws {
    let folder = try TemporaryDirectory()
    let path = folder.path + "/ca.pem"
    try #require(mkfifo(path, 0o600) == 0)
    var dial = WebSocketDialing.request(1, secure: true)
    dial.tls.ca = .file(path)
    let failure = try HTTPRequesting().failure(HTTPRequesting.request(dial))
    let detail = "a certificate or key file cannot be used: \(path) is not a regular file"
    #expect(failure == UpstreamFailure(.tls, detail))
  }

  @Test func hangingUpWithoutAnAnswerIsAClose() throws {
    let peer = try WebSocketPeer { _, connection in _ = try connection.readHead() }
    let failure = try HTTPRequesting().failure(HTTPRequesting.request(WebSocketDialing.request(peer.port)))
    let detail = "127.0.0.1:\(peer.port) closed the connection before its answer was complete"
    #expect(failure == UpstreamFailure(.closed, detail))
  }

  @Test func hangingUpInTheBodyIsAClose() throws {
    let peer = try WebSocketPeer { _, connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")
    }
    let failure = try HTTPRequesting().failure(HTTPRequesting.request(WebSocketDialing.request(peer.port)))
    let detail = "127.0.0.1:\(peer.port) closed the connection before its answer was complete"
    #expect(failure == UpstreamFailure(.closed, detail))
  }

  @Test func answerThatIsNoHTTPIsSaidSo() throws {
    let peer = try WebSocketPeer { _, connection in
      _ = try connection.readHead()
      try connection.write("SSH-2.0-OpenSSH_9.2\r\n")
      connection.awaitEnd()
    }
    let failure = try HTTPRequesting().failure(HTTPRequesting.request(WebSocketDialing.request(peer.port)))
    #expect(failure == UpstreamFailure(.http, "the server's answer is not HTTP"))
  }

  @Test func refusedPortIsUnreachable() throws {
    let closed = try ClosedPort()
    let failure = try HTTPRequesting().failure(HTTPRequesting.request(WebSocketDialing.request(closed.port)))
    #expect(
      failure == UpstreamFailure(.unreachable, "no connection to 127.0.0.1:\(closed.port): connection refused"))
  }

  // MARK: - TLS

  private func securePeer() throws -> WebSocketPeer {
    try WebSocketPeer(tls: WebSocketPeerTLS()) { peer, connection in
      while true {
        peer.note(try connection.readHead())
        try connection.write(Self.answer("ok"))
      }
    }
  }

  @Test func tlsVersionIsTold() throws {
    let peer = try securePeer()
    let result = try HTTPRequesting().result(HTTPRequesting.request(WebSocketDialing.request(peer.port, secure: true)))
    #expect(result.map(\.tlsVersion) == .success("TLSv1.3"))
  }

  @Test func serverNameIsForTLSOnly() throws {
    let peer = try securePeer()
    var dial = WebSocketDialing.request(peer.port, secure: true)
    dial.tls.serverName = "gateway.test"
    #expect(try HTTPRequesting().result(HTTPRequesting.request(dial)).map(\.status) == .success(200))
    #expect(peer.noted.first?.contains("\r\nHost: 127.0.0.1:\(peer.port)\r\n") == true)
  }

  @Test func unknownAuthorityIsRefused() throws {
    let peer = try securePeer()
    var dial = WebSocketDialing.request(peer.port, secure: true)
    dial.tls.ca = .file(WebSocketPeerTLS.files.stranger)
    let failure = try HTTPRequesting().failure(HTTPRequesting.request(dial))
    let detail = "the certificate of 127.0.0.1:\(peer.port) was not accepted: unable to get local issuer certificate"
    #expect(failure == UpstreamFailure(.tls, detail))
  }

  @Test func clearTextToATLSPortIsUnderstood() throws {
    let peer = try WebSocketPeer { _, connection in
      _ = try connection.readHead()
      try connection.write([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46])
    }
    let failure = try HTTPRequesting().failure(HTTPRequesting.request(WebSocketDialing.request(peer.port)))
    #expect(failure == UpstreamFailure(.tls, "the server speaks TLS on this port: use wss:// or https://"))
  }

  @Test func missingFilesAreNamed() throws {
    let peer = try securePeer()
    var dial = WebSocketDialing.request(peer.port, secure: true)
    dial.tls.ca = .file("/nonexistent/ca.pem")
    let failure = try HTTPRequesting().failure(HTTPRequesting.request(dial))
    #expect(failure?.reason == .tls && failure?.detail.contains("/nonexistent/ca.pem") == true)
  }

  @Test func ofARefusalTheBeginningIsKeptAndOfAnAnswerAll() throws {
    let body = String(repeating: "x", count: 3 * HTTPResponse.refusalLimit)
    for (status, kept) in [("500 No", HTTPResponse.refusalLimit), ("200 OK", body.utf8.count)] {
      let peer = try peer(answering: Self.answer(body, status: status))
      let result = try HTTPRequesting().result(HTTPRequesting.request(WebSocketDialing.request(peer.port)))
      #expect(try result.get().body.count == kept)
    }
  }

  @Test func ofAnAnswerNoMoreIsKeptThanWasAskedFor() throws {
    let body = String(repeating: "x", count: 3 * HTTPResponse.refusalLimit)
    let peer = try peer(answering: Self.answer(body))
    var request = HTTPRequesting.request(WebSocketDialing.request(peer.port))
    request.keptLimit = 1_000
    let response = try HTTPRequesting().result(request).get()
    #expect(response.status == 200 && response.body.count == 1_000)
  }
}
