import Testing

@testable import GatewayCore

private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
private func payload(_ arguments: String, _ keywords: String = "") -> WAMPWriter.Payload {
  WAMPWriter.Payload(arguments: Array(arguments.utf8), keywords: Array(keywords.utf8))
}

private func body(_ uri: String, _ payload: WAMPWriter.Payload) -> ArraySlice<UInt8> { payload.body(after: uri)[...] }

@Suite struct WAMPWriterTests {
  @Test func helloNamesTheRealm() {
    let bytes = WAMPWriter.hello(realm: "realm1") { $0.member("agent", "a") }
    #expect(text(bytes) == #"[1,"realm1",{"agent":"a"}]"#)
  }

  @Test func authenticateCarriesItsExtra() {
    #expect(text(WAMPWriter.authenticate(signature: "s\"", extra: Array("{}".utf8))) == #"[5,"s\"",{}]"#)
  }

  @Test func theEndingsNameTheirReason() {
    #expect(
      text(WAMPWriter.abort(.protocolViolation, message: "m"))
        == #"[3,{"message":"m"},"wamp.error.protocol_violation"]"#)
    #expect(text(WAMPWriter.goodbye(.closeRealm)) == #"[6,{},"wamp.close.close_realm"]"#)
  }

  @Test func subscribeNamesTheMatchOnlyWhereItIsNotExact() {
    #expect(text(WAMPWriter.subscribe(1, WAMPTopic(uri: "a.b", match: .exact))) == #"[32,1,{},"a.b"]"#)
    #expect(text(WAMPWriter.subscribe(2, .all)) == #"[32,2,{"match":"prefix"},""]"#)
    #expect(
      text(WAMPWriter.register(3, WAMPTopic(uri: "a..c", match: .wildcard), invoke: .roundrobin))
        == #"[64,3,{"match":"wildcard","invoke":"roundrobin"},"a..c"]"#)
    #expect(
      text(WAMPWriter.register(4, WAMPTopic(uri: "a.b", match: .exact), invoke: .single)) == #"[64,4,{},"a.b"]"#)
  }

  @Test func givingBackNamesTheID() {
    #expect(text(WAMPWriter.giveBack(.unsubscribe, 5, id: 7)) == "[34,5,7]")
    #expect(text(WAMPWriter.giveBack(.unregister, 6, id: 8)) == "[66,6,8]")
  }

  @Test func emptyPayloadsAreLeftOut() {
    #expect(
      text(WAMPWriter.publish(9, acknowledged: false, body: body("a.b", payload(""))))
        == #"[16,9,{"exclude_me":false},"a.b"]"#)
    #expect(text(WAMPWriter.yield(3, body: payload("").tail[...])) == "[70,3,{}]")
  }

  @Test func anArrayStandsBeforeKeywords() {
    #expect(
      text(WAMPWriter.call(1, body: body("p", payload("", #"{"k":1}"#))))
        == #"[48,1,{"receive_progress":true},"p",[],{"k":1}]"#)
  }

  @Test func payloadsAreCopiedAsTheyAre() {
    let body = body("a", payload(#"1.50, "\u0041""#, #"{ "k":1e9 }"#))
    #expect(
      text(WAMPWriter.publish(2, acknowledged: true, body: body))
        == #"[16,2,{"acknowledge":true,"exclude_me":false},"a",[1.50, "\u0041"],{ "k":1e9 }]"#)
  }

  @Test func aCallMayBeCancelled() {
    #expect(text(WAMPWriter.cancel(4, mode: "killnowait")) == #"[49,4,{"mode":"killnowait"}]"#)
  }

  @Test func anInvocationFailsWithItsError() {
    #expect(
      text(WAMPWriter.error(3, body: body("a.b", payload("1", #"{"x":2}"#)))) == #"[8,68,3,{},"a.b",[1],{"x":2}]"#)
    #expect(text(WAMPWriter.error(3, body: body("a.b", payload("")))) == #"[8,68,3,{},"a.b"]"#)
  }
}

@Suite struct WAMPRequestIDTests {
  @Test func requestsAreNumberedFromOneWithoutGaps() {
    var ids = WAMPRequestIDs()
    #expect([ids.take(), ids.take(), ids.take()] == [1, 2, 3])
  }

  @Test func behindTheLastIDComesTheFirst() {
    var ids = WAMPRequestIDs(next: 1 << 53)
    #expect([ids.take(), ids.take()] == [1 << 53, 1])
  }
}
