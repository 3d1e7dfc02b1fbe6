import Testing

@testable import GatewayCore

private func answer(_ text: String) -> MessageDeflate? { MessageDeflate(answer: text) }

@Test(arguments: [
  ("permessage-deflate", MessageDeflate(serverKeepsContext: true)),
  ("permessage-deflate; server_no_context_takeover", MessageDeflate()),
  ("permessage-deflate ;\tserver_no_context_takeover ; client_no_context_takeover", MessageDeflate()),
  ("permessage-deflate; server_no_context_takeover; server_max_window_bits=8", MessageDeflate()),
  ("permessage-deflate; client_max_window_bits = 15", MessageDeflate(serverKeepsContext: true)),
  (
    #"permessage-deflate; client_max_window_bits="9"; server_no_context_takeover"#,
    MessageDeflate(clientWindowBits: 9)
  ),
  ("permessage-deflate; client_max_window_bits=8", MessageDeflate(serverKeepsContext: true, clientWindowBits: 8)),
])
func whatTheServerAgreedToIsUnderstood(text: String, agreed: MessageDeflate) {
  #expect(answer(text) == agreed)
}

@Test(arguments: [
  "", ";", "permessage-deflate;", "permessage-bzip2", "x-webkit-deflate-frame", "permessage-deflate; unknown",
  "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
  "permessage-deflate; server_max_window_bits=10; server_max_window_bits=10",
  "permessage-deflate; server_no_context_takeover=1", "permessage-deflate; client_no_context_takeover=",
  "permessage-deflate; client_max_window_bits", "permessage-deflate; server_max_window_bits",
  "permessage-deflate; client_max_window_bits=7", "permessage-deflate; client_max_window_bits=16",
  "permessage-deflate; server_max_window_bits=08", "permessage-deflate; server_max_window_bits=+9",
  "permessage-deflate; server_max_window_bits=99999999999999999999", #"permessage-deflate; server_max_window_bits="9"#,
  #"permessage-deflate; server_max_window_bits=""#, "permessage-deflate; =9",
])
func whatWasNotOfferedIsRefused(text: String) {
  #expect(answer(text) == nil)
}

private func upgrade(threshold: Int?) -> WebSocketUpgrade {
  var request = DialRequest(
    secure: false, host: "h", port: 80, target: "/", headers: [], tls: TLSSettings(), phaseLimit: .seconds(1),
    messageLimit: 1)
  request.compressionThreshold = threshold
  return WebSocketUpgrade(request: request, key: "k", expectedAccept: "accept")
}

private func outcome(_ extensions: String, _ upgrade: inout WebSocketUpgrade) -> WebSocketUpgrade.Outcome {
  let head = "HTTP/1.1 101 Ok\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: accept\r\n"
  let bytes = [UInt8]((head + extensions + "\r\n").utf8)
  return upgrade.receive(bytes.span.bytes)
}

@Test func compressionIsOfferedWhenItIsWanted() {
  let line =
    "\r\nSec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover; server_no_context_takeover; "
    + "client_max_window_bits\r\n"
  #expect(String(decoding: upgrade(threshold: 0).requestBytes, as: UTF8.self).contains(line))
  #expect(!String(decoding: upgrade(threshold: nil).requestBytes, as: UTF8.self).contains("Extensions"))
}

@Test func theUpgradeTellsWhatWasAgreedOn() {
  var plain = upgrade(threshold: 1_024)
  guard case .upgraded = outcome("", &plain) else { return #expect(Bool(false)) }
  #expect(plain.deflate == nil)
  var compressed = upgrade(threshold: 1_024)
  let answer = "Sec-WebSocket-Extensions: Permessage-Deflate; server_no_context_takeover\r\n"
  guard case .upgraded = outcome(answer, &compressed) else { return #expect(Bool(false)) }
  #expect(compressed.deflate == MessageDeflate())
}

@Test(arguments: [
  (nil, "Sec-WebSocket-Extensions: permessage-deflate\r\n"),
  (1, "Sec-WebSocket-Extensions: permessage-deflate, permessage-deflate\r\n"),
  (1, "Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"),
  (1, "Sec-WebSocket-Extensions: bogus\r\n"),
  (1, "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=7\r\n"),
])
func anExtensionThatWasNotOfferedEndsTheHandshake(threshold: Int?, answer: String) {
  var upgrade = upgrade(threshold: threshold)
  #expect(
    outcome(answer, &upgrade)
      == .failed(
        TransportFailure(
          UpstreamFailure(
            .protocolError, "the server chose a WebSocket extension or a parameter that was not offered", status: 101)))
  )
  #expect(upgrade.deflate == nil)
}
