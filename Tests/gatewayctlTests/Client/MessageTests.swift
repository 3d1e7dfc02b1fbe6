@testable import GatewayCore
import Testing

@testable import gatewayctl

@Suite struct MessageTests {
  private func parse(_ text: String) -> Message? { Message.parse(Array(text.utf8)) }

  @Test func payloadsKeepTheirBytes() {
    #expect(
      parse(#"{"jsonrpc":"2.0","id":3,"result":{"args":[1.0,"\u00e9"]}}"#)
        == .result(id: 3, Array(#"{"args":[1.0,"\u00e9"]}"#.utf8)))
    #expect(
      parse(#"{"jsonrpc":"2.0","method":"event","params":{"seq":1}}"#)
        == .notification(method: "event", Array(#"{"seq":1}"#.utf8)))
  }

  @Test(arguments: ["", "HTTP/1.1 400 Bad Request", "[]", "{}", #"{"id":1}"#, #"{"id":1,"error":7}"#, "{} x"])
  func whatIsNoLineOfTheProtocolIsRecognised(_ text: String) {
    #expect(parse(text) == nil)
  }

  @Test func anErrorOfTheServerMayBeNestedDeeply() throws {
    let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
    let facts = #"{"type":"UpstreamRefused","retry":false,"message":"no","data":\#(deep)}"#
    let line = #"{"jsonrpc":"2.0","id":3,"error":{"code":-32005,"message":"m","data":\#(facts)}}"#
    guard case .failure(id: 3, let error) = parse(line) else { return #expect(Bool(false)) }
    #expect(error.kind == .upstreamRefused && error.message == "m" && !error.retry)
    let failed = #"{"type":"RequestFailed","error":"no","args":[\#(deep)]}"#
    guard case .failure(_, let failure) = parse(#"{"id":3,"error":{"code":1,"message":"m","data":\#(failed)}}"#) else {
      return #expect(Bool(false))
    }
    #expect(failure.applicationError?.words == deep)
  }

  @Test func anErrorWithoutItsCallIsKept() {
    guard case .failure(id: nil, let error) = parse(#"{"id":null,"error":{"code":-32600,"message":"m"}}"#) else {
      Issue.record("not recognised")
      return
    }
    #expect(error.kind == .invalidRequest)
  }

  @Test func anEventIsPrintedInTheDocumentedOrder() throws {
    let params = try #require(
      RawJSONObject(Array(#"{"subscription":"s","seq":4,"time":17,"event":"a\u0000b","args":[1.0]}"#.utf8)))
    let event = try #require(ReceivedEvent(params, epoch: "e\"7"))
    #expect(
      String(decoding: event.line, as: UTF8.self)
        == #"{"event":"a\u0000b","args":[1.0],"seq":4,"epoch":"e\"7","time":17}"#)
    #expect(event.variables(target: Target("u")).map(\.value) == ["a\u{fffd}b", "4", "e\"7", "17", "u", ""])
    #expect(ReceivedEvent(params, epoch: "e")?.ack == nil)
  }

  @Test(arguments: [
    (
      #"{"from":3,"to":5,"count":2,"reason":"slow_consumer"}"#,
      "2 events missed, 3 to 5: they were not read fast enough"
    ),
    (
      #"{"from":3,"to":3,"count":1,"reason":"too_large"}"#,
      "1 event missed, 3 to 3: larger than the daemon's line limit"
    ),
    (
      #"{"epoch":"e8","reason":"upstream"}"#,
      "events may have been missed: the connection to the server was interrupted"
    ),
    (#"{"from":5,"to":3,"reason":"new"}"#, "events may have been missed: new"),
  ])
  func gapsAreDescribed(_ params: String, _ text: String) throws {
    #expect(ReceivedGap(try #require(RawJSONObject(Array(params.utf8)))).description == text)
  }
}
