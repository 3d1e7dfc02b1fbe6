import Testing

@testable import GatewayCore

private let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

private func request(
  secure: Bool = false, host: String = "chat.example", port: UInt16 = 80, headers: [HTTPHeader] = []
) -> DialRequest {
  DialRequest(
    secure: secure, host: host, port: port, target: "/socket.io/?EIO=4&transport=websocket", headers: headers,
    tls: TLSSettings(), phaseLimit: .seconds(10), messageLimit: 1 << 20)
}

private func fresh() -> WebSocketUpgrade {
  WebSocketUpgrade(request: request(), key: "dGhlIHNhbXBsZSBub25jZQ==", expectedAccept: accept)
}

/// Feeds a whole response in two pieces, or byte by byte, and returns the outcome with absolute offsets and, for the
/// refusals, without the header lines.
private func outcome(_ text: String, cut: Int?, of start: WebSocketUpgrade = fresh()) -> WebSocketUpgrade.Outcome {
  var upgrade = start
  let bytes = [UInt8](text.utf8)
  let pieces = cut.map { [bytes[..<$0], bytes[$0...]] } ?? bytes.indices.map { bytes[$0...$0] }
  var taken = 0
  for piece in pieces {
    switch upgrade.receive([UInt8](piece).span.bytes) {
    case .needMore: taken += piece.count
    case .upgraded(let consumed): return .upgraded(consumed: taken + consumed)
    case .failed(let failure): return .failed(TransportFailure(failure.failure, httpBody: failure.httpBody))
    }
  }
  return .needMore
}

private let agreement =
  "HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Accept: \(accept)\r\n\r\n"

private func failed(_ failure: UpstreamFailure, _ body: String = "") -> WebSocketUpgrade.Outcome {
  .failed(TransportFailure(failure, httpBody: [UInt8](body.utf8)))
}

private let refusals: [(response: String, outcome: WebSocketUpgrade.Outcome)] = [
  (
    "HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\n\r\nnope and more",
    failed(
      UpstreamFailure(.http, "the server answered HTTP 400 Bad Request instead of opening a WebSocket", status: 400),
      "nop")
  ),
  (
    "HTTP/1.0 403\r\nContent-Length: 0\r\n\r\n",
    failed(UpstreamFailure(.http, "the server answered HTTP 403 instead of opening a WebSocket", status: 403))
  ),
  (
    "HTTP/1.1 502 Bad Gateway\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n",
    failed(
      UpstreamFailure(.http, "the server answered HTTP 502 Bad Gateway instead of opening a WebSocket", status: 502),
      "abc0123456789")
  ),
  (
    "HTTP/1.1 301 Moved\r\nLocation: https://user:secret@other.example:8443/x?token=1\r\nContent-Length: 0\r\n\r\n",
    failed(
      UpstreamFailure(
        .http, "the server redirects to https://other.example:8443 (HTTP 301 Moved), which is not followed", status: 301
      ))
  ),
  (
    "HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n",
    failed(
      UpstreamFailure(
        .http, "the server redirects to another place (HTTP 302 Found), which is not followed", status: 302))
  ),
  (
    "HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=utf-8\r\nContent-Length: 6\r\n\r\n<html>",
    failed(
      UpstreamFailure(
        .http,
        "the server answered the WebSocket handshake with a web page (HTTP 200 OK): this is no WebSocket server, or a "
          + "login page or a captive portal stands before it", status: 200), "<html>")
  ),
  (
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n",
    failed(
      UpstreamFailure(.http, "the server answered HTTP 400 Bad Request instead of opening a WebSocket", status: 400))
  ),
  (
    "HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n",
    failed(UpstreamFailure(.http, "a proxy on the way wants a user and a password (HTTP 407 No)", status: 407))
  ),
  (
    "HTTP/1.1 511 Login\r\nContent-Length: 0\r\n\r\n",
    failed(
      UpstreamFailure(
        .http, "the network wants a login before it lets anything through (HTTP 511 Login): a captive portal",
        status: 511))
  ),
  ("SSH-2.0-OpenSSH_9.2\r\n", failed(UpstreamFailure(.http, "the server's answer is not HTTP"))),
  ("HTTP/1.1 abc\r\n\r\n", failed(UpstreamFailure(.http, "the server's answer is not HTTP"))),
  (
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
    failed(UpstreamFailure(.protocolError, "the server's HTTP header is malformed"))
  ),
  (
    "HTTP/1.1 101 Ok\r\nBad Name: x\r\n\r\n",
    failed(UpstreamFailure(.protocolError, "the server's HTTP header is malformed"))
  ),
  (
    "HTTP/1.1 101 Ok\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
    failed(UpstreamFailure(.protocolError, "the server switched to another protocol than WebSocket", status: 101))
  ),
  (
    "HTTP/1.1 101 Ok\r\nUpgrade: websocket\r\nConnection: close\r\n\r\n",
    failed(UpstreamFailure(.protocolError, "the server switched to another protocol than WebSocket", status: 101))
  ),
  (
    "HTTP/1.1 101 Ok\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n",
    failed(UpstreamFailure(.protocolError, "the server's Sec-WebSocket-Accept does not match the key", status: 101))
  ),
  (
    agreement.replacing("\r\n\r\n", with: "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"),
    failed(
      UpstreamFailure(
        .protocolError, "the server chose a WebSocket extension or a parameter that was not offered", status: 101))
  ),
  (
    agreement.replacing("\r\n\r\n", with: "\r\nSec-WebSocket-Protocol: chat\r\n\r\n"),
    failed(
      UpstreamFailure(.protocolError, "the server chose a WebSocket subprotocol that was not offered", status: 101))
  ),
]

extension String {
  fileprivate func replacing(_ part: String, with other: String) -> String {
    guard let found = indices.first(where: { self[$0...].hasPrefix(part) }) else { return self }
    return self[..<found] + other + self[found...].dropFirst(part.count)
  }
}

@Test func upgradeRequestNamesHostAndKey() {
  let upgrade = WebSocketUpgrade(
    request: request(host: "::1", port: 8080, headers: [HTTPHeader(name: "X-Team", value: "a")]), key: "abc",
    expectedAccept: "")
  #expect(
    String(decoding: upgrade.requestBytes, as: UTF8.self)
      == "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: [::1]:8080\r\nUpgrade: websocket\r\n"
      + "Connection: Upgrade\r\nSec-WebSocket-Key: abc\r\nSec-WebSocket-Version: 13\r\nUser-Agent: gatewayd/\(GatewayVersion.current)\r\n"
      + "X-Team: a\r\n\r\n")
}

@Test(arguments: [(false, UInt16(80), "h"), (true, 443, "h"), (false, 443, "h:443"), (true, 80, "h:80")])
func upgradeRequestLeavesOutDefaultPort(secure: Bool, port: UInt16, host: String) {
  let upgrade = WebSocketUpgrade(
    request: request(secure: secure, host: "h", port: port), key: "k", expectedAccept: "")
  #expect(String(decoding: upgrade.requestBytes, as: UTF8.self).contains("\r\nHost: \(host)\r\n"))
}

@Test func configuredHostAndUserAgentReplaceOurs() {
  let upgrade = WebSocketUpgrade(
    request: request(headers: [HTTPHeader(name: "hOST", value: "v"), HTTPHeader(name: "user-agent", value: "mine")]),
    key: "k", expectedAccept: "")
  let text = String(decoding: upgrade.requestBytes, as: UTF8.self)
  #expect(text.contains("\r\nhOST: v\r\nuser-agent: mine\r\n\r\n") && !text.contains("chat.example"))
}

@Test func agreementIsRecognisedAtEveryCut() {
  let text = agreement + "\u{1}frames"
  for cut in 0...text.utf8.count {
    #expect(outcome(text, cut: cut) == .upgraded(consumed: agreement.utf8.count), "cut \(cut)")
  }
  #expect(outcome(text, cut: nil) == .upgraded(consumed: agreement.utf8.count))
}

@Test func interimResponsesAreSkippedAtEveryCut() {
  let interim = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
  for cut in 0...(interim + agreement).utf8.count {
    #expect(
      outcome(interim + agreement + "x", cut: cut) == .upgraded(consumed: (interim + agreement).utf8.count),
      "cut \(cut)")
  }
}

@Test func refusalsAreExplainedAtEveryCut() {
  for (response, expected) in refusals {
    for cut in 0...response.utf8.count {
      #expect(outcome(response, cut: cut) == expected, "\(response) cut \(cut)")
    }
    #expect(outcome(response, cut: nil) == expected, "\(response)")
  }
}

@Test func bodyWithoutLengthIsCollectedUntilTheEnd() {
  var upgrade = fresh()
  let bytes = [UInt8]("HTTP/1.1 400 Bad Request\r\n\r\nUnsupported protocol".utf8)
  #expect(upgrade.receive(bytes.span.bytes) == .needMore)
  #expect(upgrade.receive([UInt8](" version".utf8).span.bytes) == .needMore)
  let expected = TransportFailure(
    UpstreamFailure(.http, "the server answered HTTP 400 Bad Request instead of opening a WebSocket", status: 400),
    httpBody: [UInt8]("Unsupported protocol version".utf8))
  #expect(upgrade.ended() == expected)
  #expect(upgrade.timedOut() == expected)
}

@Test func headersOfTheAnswerAreKept() {
  var refused = fresh()
  let refusal = [UInt8]("HTTP/1.1 503 Later\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n".utf8)
  guard case .failed(let failure) = refused.receive(refusal.span.bytes) else {
    Issue.record("the refusal was not seen")
    return
  }
  #expect(
    failure.headers == [HTTPHeader(name: "retry-after", value: "7"), HTTPHeader(name: "content-length", value: "0")])
  var agreed = fresh()
  let cookie = "Set-Cookie: node=a; Path=/"
  let answer = agreement.dropLast() + cookie + "\r\n\r\n"
  #expect(agreed.receive([UInt8](answer.utf8).span.bytes) == .upgraded(consumed: answer.utf8.count))
  #expect(agreed.headers.last == HTTPHeader(name: "set-cookie", value: "node=a; Path=/"))
}

@Test func onlyTheBeginningOfALongBodyIsKept() {
  var upgrade = fresh()
  let bytes = [UInt8]("HTTP/1.1 500 No\r\n\r\n".utf8) + [UInt8](repeating: 120, count: 100_000)
  guard case .failed(let failure) = upgrade.receive(bytes.span.bytes) else {
    Issue.record("the body was not cut off")
    return
  }
  #expect(failure.httpBody == [UInt8](repeating: 120, count: WebSocketUpgrade.bodyLimit))
}

@Test func headBeyondTheLimitIsRefused() {
  for chunkSize in [1, 1000, 40_000] {
    var upgrade = fresh()
    var outcome = upgrade.receive([UInt8]("HTTP/1.1 101 Ok\r\nX: ".utf8).span.bytes)
    var sent = 0
    while outcome == .needMore, sent < 40_000 {
      outcome = upgrade.receive([UInt8](repeating: 120, count: chunkSize).span.bytes)
      sent += chunkSize
    }
    #expect(outcome == failed(UpstreamFailure(.protocolError, "the server's HTTP header is longer than 16 KiB")))
  }
}

@Test func endlessInterimResponsesAreRefused() {
  var upgrade = fresh()
  let interim = [UInt8]("HTTP/1.1 100 Continue\r\n\r\n".utf8)
  var outcome = WebSocketUpgrade.Outcome.needMore
  for _ in 0..<2_000 where outcome == .needMore { outcome = upgrade.receive(interim.span.bytes) }
  #expect(outcome == failed(UpstreamFailure(.protocolError, "the server's HTTP header is longer than 16 KiB")))
}

@Test func silenceAndEndBeforeAnAnswerAreToldApart() {
  var first = fresh()
  var second = fresh()
  #expect(first.ended().failure.reason == .closed)
  #expect(second.timedOut().failure.reason == .timeout)
}

@Test(arguments: [
  ("", Bool?.none), ("H", nil), ("HTTP/1", nil), ("HTTP/1.", true), ("HTTP/1.1 400", true), ("HTTQ", false),
  ("\u{1}x", false),
])
func plainTextBehindTheAgreementIsRecognised(text: String, expected: Bool?) {
  #expect(WebSocketUpgrade.looksLikeHTTP([UInt8](text.utf8).span.bytes) == expected)
}

@Test func refusalBehindTheAgreementIsReadAtEveryCut() {
  let text = "HTTP/1.1 400 Bad Request\r\nContent-length: 28\r\n\r\nUnsupported protocol version"
  let expected = failed(
    UpstreamFailure(.http, "the server answered HTTP 400 Bad Request instead of opening a WebSocket", status: 400),
    "Unsupported protocol version")
  for cut in 0...text.utf8.count { #expect(outcome(text, cut: cut, of: .lateResponse()) == expected) }
  #expect(
    outcome(agreement, cut: nil, of: .lateResponse())
      == failed(UpstreamFailure(.protocolError, "the server's HTTP header is malformed")))
}
