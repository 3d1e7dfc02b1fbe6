@testable import GatewayCore
import Testing

@testable import gatewayctl

@Suite struct UpstreamOutagesTests {
  private func members(_ text: String) throws -> RawJSONObject { try #require(RawJSONObject(Array(text.utf8))) }

  @Test func eachReasonIsSaidOnceUntilTheUpstreamIsUpAgain() throws {
    var outages = UpstreamOutages()
    let steps = [
      (#"{"state":"created"}"#, false),
      (#"{"state":"disconnected","reason":"unreachable","detail":"no answer","in":2000}"#, true),
      (#"{"state":"reconnecting","reason":"unreachable","detail":"no answer"}"#, false),
      (#"{"state":"disconnected","reason":"refused","detail":"not you"}"#, true),
      (#"{"state":"disconnected","reason":"unreachable"}"#, false),
      (#"{"state":"connected","reason":null,"detail":null}"#, true),
      (#"{"state":"connected"}"#, false),
      (#"{"state":"disconnected","reason":"idle"}"#, false),
      (#"{"state":"disconnected","reason":"unreachable"}"#, true),
    ]
    for (text, isNew) in steps {
      #expect(outages.note(try members(text), of: Target("chat"))?.isNew == isNew, "\(text)")
    }
  }

  @Test func theSentenceSaysWhyAndWhenTheNextAttemptIs() throws {
    var outages = UpstreamOutages()
    let down = try members(#"{"state":"disconnected","reason":"unreachable","detail":"no answer","in":2000}"#)
    #expect(
      outages.note(down, of: Target("chat"))?.text
        == "chat is disconnected: unreachable, no answer; next attempt in 2 s")
    let due = try members(#"{"state":"disconnected","reason":"fleet","in":0}"#)
    #expect(outages.note(due, of: Target("chat"))?.text == "chat is disconnected: fleet; next attempt now")
    #expect(outages.note(try members(#"{"state":"created"}"#), of: Target("chat"))?.text == "chat is connecting")
  }

  @Test func aCredentialInTheURLIsInNoNoticeOfAnOutage() throws {
    var outages = UpstreamOutages()
    let down = try members(#"{"state":"disconnected","reason":"unreachable"}"#)
    let notice = outages.note(down, of: Target("http://ann:hunter2@h:81/adm?key=tok3n"))
    #expect(notice?.text == "http://h:81/adm?key=*** is disconnected: unreachable")
  }

  @Test(arguments: [
    "the server did not begin with an Engine.IO handshake: it may be a WebSocket server of another kind",
    "websocket: the server sent no Engine.IO handshake in time; polling: the server answered HTTP 426",
  ])
  func whatMayBeAPlainWebSocketIsToldItsScheme(_ detail: String) throws {
    let advice = "for a plain WebSocket write raw+ws:// in the URL, with TLS raw+wss://"
    var outages = UpstreamOutages()
    let down = try members(#"{"state":"disconnected","reason":"protocol","detail":"\#(detail)","in":0}"#)
    #expect(
      outages.note(down, of: Target("ws://h/live"))?.text
        == "ws://h/live is disconnected: protocol, \(detail); \(advice); next attempt now")
    let data = #"{"type":"UpstreamDown","reason":"protocol","detail":"\#(detail)"}"#
    let error = try #require(
      DaemonError(Array(#"{"code":-1,"message":"Not connected: \#(detail).","data":\#(data)}"#.utf8)))
    #expect(error.failure.message?.hasPrefix("Not connected: \(detail); \(advice); 'gatewayctl doctor' ") == true)
  }
}
