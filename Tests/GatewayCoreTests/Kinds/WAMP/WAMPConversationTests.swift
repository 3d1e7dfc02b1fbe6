import Testing

@testable import GatewayCore

private func message(_ event: String, _ args: String, kwargs: String? = nil, call: Bool = false) throws
  -> PreparedMessage
{
  try WAMPDraft.message(
    MessageDraft(
      event: event, args: Array(args.utf8), kwargs: kwargs.map { Array($0.utf8) }, purpose: call ? .call : .event))
}

private func answer(_ args: String, kwargs: String? = nil, error: String? = nil) throws -> PreparedMessage {
  try WAMPDraft.answer(AnswerDraft(args: Array(args.utf8), kwargs: kwargs.map { Array($0.utf8) }, error: error))
}

@Suite struct WAMPConversationTests {
  @Test func aSessionBeginsWithHello() throws {
    let scene = WAMPScene()
    scene.conversation.opened()
    let hello = try #require(scene.takeSent().first)
    #expect(hello.hasPrefix(#"[1,"realm1",{"agent":"gatewayd/"#))
    #expect(hello.contains(#""authmethods":["anonymous"]"#))
    for role in ["publisher", "subscriber", "caller", "callee"] { #expect(hello.contains("\"\(role)\":{\"features\"")) }
    scene.receive("[2,7,{}]")
    #expect(scene.takeTold() == ["began"])
    #expect(scene.conversation.sessionID == 7)
  }

  @Test func aTicketIsNotSentReadably() throws {
    let credentials = try WAMPCredentials(Array(#"{"authid":"a","ticket":"t"}"#.utf8), authID: nil)
    let scene = WAMPScene(credentials, isPrivate: false)
    scene.conversation.opened()
    #expect(scene.sent.isEmpty)
    #expect(scene.failure?.reason == .auth)
  }

  @Test func aChallengeIsAnswered() throws {
    let credentials = try WAMPCredentials(Array(#"{"authid":"a","ticket":"t"}"#.utf8), authID: nil)
    let scene = WAMPScene(credentials)
    scene.isObserved = true
    scene.conversation.opened()
    _ = scene.takeSent()
    scene.receive(#"[4,"ticket",{}]"#)
    #expect(scene.takeSent() == [#"[5,"t",{}]"#])
    scene.receive("[2,7,{}]")
    #expect(scene.takeTold() == ["began"])
    #expect(scene.words == ["out HELLO realm1", "in CHALLENGE ticket", "out AUTHENTICATE", "in WELCOME session 7"])
  }

  @Test func aRouterThatProvesNothingIsLeft() throws {
    let credentials = try WAMPCredentials(Array(#"{"authid":"a","secret":"t"}"#.utf8), authID: nil)
    let scene = WAMPScene(credentials)
    scene.conversation.opened()
    let hello = try #require(scene.takeSent().first)
    let nonce = try #require(hello.split(separator: #""nonce":""#).last?.split(separator: "\"").first)
    scene.receive(
      #"[4,"wamp-scram",{"nonce":"\#(nonce)x","salt":"AAAAAAAAAAAAAAAA","kdf":"pbkdf2","iterations":4096}]"#)
    #expect(scene.takeSent().isEmpty)
    scene.cryptography.waiting.first?([1, 2, 3])
    #expect(scene.takeSent().first?.hasPrefix("[5,") == true)
    scene.receive("[2,7,{}]")
    #expect(scene.failure == WAMPAuthentication.unproven)
    #expect(scene.takeSent().last?.hasSuffix(#""wamp.error.authentication_failed"]"#) == true)
  }

  @Test func aKeyThatComesTooLateIsIgnored() throws {
    let credentials = try WAMPCredentials(Array(#"{"authid":"a","secret":"t"}"#.utf8), authID: nil)
    let scene = WAMPScene(credentials)
    scene.conversation.opened()
    scene.receive(#"[4,"wampcra",{"challenge":"x","salt":"s"}]"#)
    _ = scene.takeSent()
    scene.conversation.end()
    scene.cryptography.waiting.first?([1])
    #expect(scene.takeSent().isEmpty)
  }

  @Test(arguments: [
    (#"[3,{"message":"no such realm"},"wamp.error.no_such_realm"]"#, DownReason.refused, "no such realm" as String?),
    (#"[3,{},"wamp.error.authentication_failed"]"#, .refused, "wamp.error.authentication_failed"),
    (#"[3,{},"wamp.close.system_shutdown"]"#, .closed, nil),
    (#"[3,{},"wamp.error.protocol_violation"]"#, .protocolError, nil),
  ])
  func anAbortIsNamed(_ text: String, _ reason: DownReason, _ serverMessage: String?) {
    let scene = WAMPScene()
    scene.conversation.opened()
    scene.receive(text)
    #expect(scene.failure?.reason == reason)
    #expect(scene.failure?.serverMessage == serverMessage)
  }

  @Test(arguments: [
    ("wamp.close.killed", DownReason.kicked), ("wamp.close.logout", .kicked), ("wamp.close.normal", .closed),
    ("wamp.close.system_shutdown", .closed),
  ])
  func aGoodbyeIsAnsweredAndNamed(_ uri: String, _ reason: DownReason) {
    let scene = WAMPScene.joined()
    scene.receive(#"[6,{"message":"x"},"\#(uri)"]"#)
    #expect(scene.takeSent() == [#"[6,{},"wamp.close.goodbye_and_out"]"#])
    #expect(scene.failure?.reason == reason)
  }

  @Test func weLeaveWithAGoodbyeAndIgnoreEverythingButItsAnswer() {
    let scene = WAMPScene.joined()
    let isAwaited = scene.conversation.leave()
    #expect(isAwaited)
    #expect(scene.takeSent() == [#"[6,{},"wamp.close.close_realm"]"#])
    scene.receive("[36,1,2,{}]")
    scene.receive("rubbish")
    #expect(!scene.hasParted)
    scene.receive(#"[6,{},"wamp.close.goodbye_and_out"]"#)
    #expect(scene.hasParted)
    #expect(scene.failure == nil)
  }

  // MARK: - Events

  @Test func whatIsWantedIsAskedForAndConfirmed() {
    let scene = WAMPScene.joined()
    scene.want("a")
    scene.want("c", answers: true)
    #expect(scene.takeSent() == [#"[32,1,{},"a"]"#, #"[64,2,{},"c"]"#])
    scene.receive("[33,1,70]")
    scene.receive("[65,2,90]")
    #expect(scene.takeTold() == ["agreed to a", "agreed to c"])
  }

  @Test func anEventComesUnderItsTopicsName() {
    let scene = WAMPScene.joined()
    scene.want("a.b")
    scene.want(glob: "c.*")
    scene.receive("[33,1,70]")
    scene.receive("[33,2,71]")
    _ = scene.takeTold()
    scene.receive(#"[36,70,1,{},[1, "\u0000AQID"],{"k":2}]"#)
    scene.receive(#"[36,71,2,{"topic":"c.d"},[],{}]"#)
    scene.receive("[36,71,3,{}]")
    #expect(
      scene.takeTold() == [
        #"event "a.b" [1, {"$bin":"AQID"}] {"k":2}"#, #"event "c.d" []"#, "dropped undecodable",
      ])
  }

  /// An argument of so many levels, with `inside` in the innermost.
  private func nested(_ levels: Int, _ inside: String = "") -> String {
    String(repeating: "[", count: levels) + inside + String(repeating: "]", count: levels)
  }

  /// What a program can send comes back to it; what another publisher nests more deeply is a gap, and the session stays.
  @Test(arguments: [0, 20])
  func anEventNestedTooDeeplyIsAGapInItsSubscriptions(inPiecesOf size: Int) {
    let scene = WAMPScene.joined()
    scene.want("a.b")
    scene.receive("[33,1,70]")
    _ = scene.takeTold()
    let events = [
      "[\(nested(61))]", "[\(nested(62))]", #"[],{"k":\#(nested(61))}"#, #"[],{"k":\#(nested(62))}"#,
      "[\(nested(1_000, "1"))]", "[7]",
    ]
    for (number, payload) in events.enumerated() {
      let text = "[36,70,\(number + 1),{},\(payload)]"
      if size > 0 { scene.receive(text, inPiecesOf: size) } else { scene.receive(text) }
    }
    #expect(
      scene.takeTold() == [
        #"event "a.b" [\#(nested(61))]"#, #"dropped undecodable "a.b""#, #"event "a.b" [] {"k":\#(nested(61))}"#,
        #"dropped undecodable "a.b""#, #"dropped undecodable "a.b""#, #"event "a.b" [7]"#,
      ])
    #expect(scene.failure == nil && scene.takeSent().count == 1)
  }

  @Test func binaryDataIsALevelOfItsOwn() {
    let scene = WAMPScene.joined()
    scene.want("a.b")
    scene.receive("[33,1,70]")
    _ = scene.takeTold()
    let (sent, shown) = (#""\u0000AQID""#, #"{"$bin":"AQID"}"#)
    scene.receive("[36,70,1,{},[\(nested(60, sent))]]")
    scene.receive("[36,70,2,{},[\(nested(61, sent))]]")
    #expect(scene.takeTold() == [#"event "a.b" [\#(nested(60, shown))]"#, #"dropped undecodable "a.b""#])
  }

  @Test func anAnswerNestedTooDeeplyIsUnreadable() throws {
    let scene = WAMPScene.joined()
    for ack in UInt64(11)...14 { scene.conversation.write(try message("c", "[]", call: true), ack: ack) }
    _ = scene.takeSent()
    let deep = "[\(nested(100))]"
    scene.receive("[50,1,{},\(deep)]")
    scene.receive(#"[8,48,2,{},"com.example.no",\#(deep)]"#)
    scene.receive(#"[50,3,{"progress":true},\#(deep)]"#)
    scene.receive(#"[50,3,{"progress":true},[1]]"#)
    scene.receive("[50,3,{},[2]]")
    scene.receive("[50,4,{},[\(nested(61))]]")
    #expect(
      scene.takeTold() == [
        "unreadable 11", "failed 12 com.example.no []", "unreadable 13", "acknowledged 14 [\(nested(61))]",
      ])
    #expect(scene.takeSent() == [#"[49,3,{"mode":"killnowait"}]"#])
    #expect(scene.failure == nil)
  }

  @Test func copiesByOverlappingSubscriptionsAreDropped() {
    let scene = WAMPScene.joined()
    scene.want("a.b")
    scene.want(glob: "a.*")
    scene.receive("[33,1,70]")
    scene.receive("[33,2,71]")
    _ = scene.takeTold()
    scene.receive("[36,70,1,{},[1]]")
    scene.receive(#"[36,71,1,{"topic":"a.b"},[1]]"#)
    scene.receive(#"[36,71,2,{"topic":"a.b"},[2]]"#)
    scene.receive("[36,70,2,{},[2]]")
    #expect(scene.takeTold() == [#"event "a.b" [1]"#, #"event "a.b" [2]"#])
  }

  @Test func twoGlobsThatNeedTheSameAreOneSubscription() {
    let scene = WAMPScene.joined()
    scene.want(glob: "a.b*")
    scene.want(glob: "a.b?")
    #expect(scene.takeSent() == [#"[32,1,{"match":"prefix"},"a.b"]"#])
    scene.receive("[33,1,70]")
    #expect(Set(scene.takeTold()) == ["agreed to a.b*", "agreed to a.b?"])
    scene.want(glob: "a.b??")
    #expect(scene.takeTold() == ["agreed to a.b??"])
    for glob in ["a.b*", "a.b?"] { scene.conversation.drop(Interest(.glob(ExactText(glob)))) }
    #expect(scene.takeSent().isEmpty)
    scene.conversation.drop(Interest(.glob(ExactText("a.b??"))))
    #expect(scene.takeSent() == ["[34,2,70]"])
  }

  @Test func eventsOfASubscriptionThatIsGivenBackAreNobodys() {
    let scene = WAMPScene.joined()
    scene.want("a")
    scene.receive("[33,1,70]")
    scene.drop("a")
    _ = scene.takeTold()
    scene.receive("[36,70,1,{}]")
    #expect(scene.takeTold().isEmpty)
    #expect(scene.failure == nil)
    scene.receive("[35,2]")
    scene.receive("[36,70,2,{}]")
    #expect(scene.failure?.reason == .protocolError)
  }

  @Test func aRefusalHasTheRoutersWords() {
    let scene = WAMPScene.joined()
    scene.want("a")
    scene.receive(#"[8,32,1,{},"wamp.error.not_authorized",["not for you"]]"#)
    #expect(
      scene.takeTold() == ["refused (the router refused it (wamp.error.not_authorized): not for you) a"])
  }

  @Test func aRevocationIsTold() {
    let scene = WAMPScene.joined()
    scene.want("a")
    scene.receive("[33,1,70]")
    _ = scene.takeTold()
    scene.receive(#"[35,0,{"subscription":70,"reason":"wamp.subscription.revoked"}]"#)
    #expect(scene.takeTold() == ["refused (the router took it back (wamp.subscription.revoked)) a"])
    scene.drop("a")
    #expect(scene.takeSent().count == 1)
  }

  // MARK: - Requests

  @Test func requestsOfEveryKindShareOneSequence() throws {
    let scene = WAMPScene.joined()
    scene.want("a")
    scene.conversation.write(try message("b", "[1]"), ack: nil)
    scene.conversation.write(try message("b", "[]", kwargs: #"{"k":1}"#), ack: 11)
    scene.conversation.write(try message("c", "[1]", call: true), ack: 12)
    #expect(
      scene.takeSent() == [
        #"[32,1,{},"a"]"#, #"[16,2,{"exclude_me":false},"b",[1]]"#,
        #"[16,3,{"acknowledge":true,"exclude_me":false},"b",[],{"k":1}]"#,
        #"[48,4,{"receive_progress":true},"c",[1]]"#,
      ])
    scene.receive("[17,3,4711]")
    scene.receive(#"[50,4,{"progress":true},["a"],{"n":1}]"#)
    scene.receive(#"[50,4,{},["b"]]"#)
    #expect(
      scene.takeTold() == ["acknowledged 11 [4711]", #"progressed 12 ["a"] {"n":1}"#, #"acknowledged 12 ["b"]"#])
  }

  @Test func anErrorIsTheApplicationsAnswer() throws {
    let scene = WAMPScene.joined()
    scene.conversation.write(try message("c", "[]", call: true), ack: 12)
    scene.receive(#"[8,48,1,{},"com.example.no",[1],{"k":2}]"#)
    #expect(scene.takeTold() == [#"failed 12 com.example.no [1] {"k":2}"#])
  }

  @Test func aCallThatWasGivenUpIsCancelled() throws {
    let scene = WAMPScene.joined()
    scene.conversation.write(try message("c", "[]", call: true), ack: 12)
    scene.conversation.write(try message("c", "[]"), ack: 13)
    _ = scene.takeSent()
    scene.conversation.forget(ack: 12)
    scene.conversation.forget(ack: 13)
    #expect(scene.takeSent() == [#"[49,1,{"mode":"killnowait"}]"#])
    scene.receive(#"[8,48,1,{},"wamp.error.canceled"]"#)
    scene.receive("[17,2,5]")
    #expect(scene.takeTold().isEmpty)
    #expect(scene.failure == nil)
  }

  @Test func aRouterThatKnowsNoCancelIsNotAskedTo() throws {
    let scene = WAMPScene()
    scene.conversation.opened()
    scene.receive("[2,7,{}]")
    scene.conversation.write(try message("c", "[]", call: true), ack: 12)
    _ = scene.takeSent()
    scene.conversation.forget(ack: 12)
    #expect(scene.takeSent().isEmpty)
  }

  // MARK: - Invocations

  private func callee() -> WAMPScene {
    let scene = WAMPScene.joined()
    scene.want("p", answers: true)
    scene.receive("[65,1,90]")
    _ = scene.takeSent()
    _ = scene.takeTold()
    return scene
  }

  @Test func anInvocationIsAnEventThatWantsAnAnswer() throws {
    let scene = callee()
    scene.receive(#"[68,5,90,{},[1],{"k":2}]"#)
    scene.receive("[68,6,90,{}]")
    #expect(scene.takeTold() == [#"event "p" [1] {"k":2} ack 5"#, #"event "p" [] ack 6"#])
    scene.conversation.answer(5, try answer("[3]", kwargs: #"{"x":1}"#))
    scene.conversation.answer(6, try answer(#"["why"]"#, error: "com.example.no"))
    scene.conversation.answer(5, try answer("[]"))
    #expect(scene.takeSent() == [#"[70,5,{},[3],{"x":1}]"#, #"[8,68,6,{},"com.example.no",["why"]]"#])
  }

  @Test func anInvocationNestedTooDeeplyIsDeclined() {
    let scene = callee()
    scene.receive("[68,5,90,{},[\(nested(62))]]")
    #expect(scene.takeTold() == [#"dropped undecodable "p" ack 5"#])
    scene.conversation.decline(5, .unheard)
    #expect(scene.takeSent() == [#"[8,68,5,{},"wamp.error.unavailable"]"#])
    #expect(scene.failure == nil)
  }

  @Test func anInvocationThatNobodyTakesFails() throws {
    let scene = callee()
    scene.receive("[68,5,90,{}]")
    scene.conversation.decline(5, .unheard)
    scene.conversation.decline(5, .unheard)
    #expect(scene.takeSent() == [#"[8,68,5,{},"wamp.error.unavailable"]"#])
  }

  @Test func keywordsThatAreOneBinaryValueAreRefused() {
    #expect(throws: MessageProblem.self) { try message("a", "[]", kwargs: #"{"$bin":"AAAA"}"#) }
    #expect(throws: Never.self) { try message("a", "[]", kwargs: #"{"k":{"$bin":"AAAA"}}"#) }
  }

  @Test func anInterruptTakesAnInvocationBack() throws {
    let scene = callee()
    scene.receive("[68,5,90,{}]")
    _ = scene.takeTold()
    scene.receive("[69,5,{}]")
    #expect(scene.takeTold() == ["withdrew 5"])
    #expect(scene.takeSent() == [#"[8,68,5,{},"wamp.error.canceled"]"#])
    scene.conversation.answer(5, try answer("[]"))
    scene.receive("[69,5,{}]")
    #expect(scene.takeSent().isEmpty)
    #expect(scene.failure == nil)
  }

  @Test func anInvocationOfWhatIsGivenBackIsDeclined() {
    let scene = callee()
    scene.drop("p", answers: true)
    #expect(scene.takeSent() == ["[66,2,90]"])
    scene.receive("[68,5,90,{}]")
    #expect(scene.takeSent() == [#"[8,68,5,{},"wamp.error.unavailable"]"#])
    #expect(scene.takeTold().isEmpty)
  }

  // MARK: - Violations

  @Test(arguments: [
    "[2,8,{}]", #"[4,"ticket",{}]"#, #"[1,"realm1",{}]"#, "[33,99,1]", "[35,99]", "[17,99,1]", "[50,99,{}]",
    "[65,99,1]", "[67,99]", "[36,99,1,{}]", "[68,1,99,{}]", #"[8,48,99,{},"a.b"]"#, #"[8,32,99,{},"a.b"]"#,
    #"[8,64,99,{},"a.b"]"#, #"[8,68,1,{},"a.b"]"#, #"[8,2,1,{},"a.b"]"#, "[35,0,{}]", #"[35,0,{"subscription":9}]"#,
    "[67,0,{}]", "[36,1]", "[255]", "{}", "nonsense", "[]",
  ])
  func aViolationEndsTheSessionWithAnAbort(_ text: String) {
    let scene = WAMPScene.joined()
    scene.receive(text)
    let sent = scene.takeSent()
    #expect(sent.count == 1)
    #expect(sent.last?.hasPrefix("[3,{\"message\":\"the router sent") == true)
    #expect(sent.last?.hasSuffix(#""wamp.error.protocol_violation"]"#) == true)
    #expect(scene.failure?.reason == .protocolError)
    scene.receive("[36,99,1,{}]")
    #expect(scene.takeSent().isEmpty)
    #expect(scene.failures.count == 1)
  }

  @Test func binaryIsAViolation() {
    let scene = WAMPScene.joined()
    let bytes: [UInt8] = [1, 2]
    scene.conversation.received(binary: bytes.span.bytes)
    #expect(scene.failure == WAMPProblem.binary.failure)
  }

  @Test func anErrorOfTheWrongTypeIsAViolation() throws {
    let scene = WAMPScene.joined()
    scene.conversation.write(try message("c", "[]", call: true), ack: 12)
    scene.receive(#"[8,16,1,{},"a.b"]"#)
    #expect(scene.failure == WAMPProblem.wrongRequestType(.publish, 1).failure)
    let other = WAMPScene.joined()
    other.want("a")
    other.receive(#"[8,34,1,{},"a.b"]"#)
    #expect(other.failure == WAMPProblem.wrongRequestType(.unsubscribe, 1).failure)
  }

  @Test func whatFitsIntoNoLineIsToldByItsName() throws {
    let scene = WAMPScene.joined()
    scene.lineLimit = 2_000
    scene.want("a.b")
    scene.receive("[33,1,70]")
    _ = scene.takeTold()
    let text = String(repeating: "x", count: 3_000)
    scene.receive(#"[36,70,1,{},["\#(text)"]]"#, inPiecesOf: 500)
    scene.receive(#"[36,70,2,{},["short"]]"#, inPiecesOf: 5)
    #expect(scene.takeTold() == [#"event "a.b" of 3004 bytes"#, #"event "a.b" ["short"]"#])
  }

  // MARK: - Drafts

  @Test(arguments: ["", "a..b", "a b", "a#", "wamp.x"])
  func namesThatWouldEndTheSessionAreRefused(_ name: String) {
    #expect(throws: MessageProblem.self) { try message(name, "[]") }
  }

  @Test func theRoutersOwnProceduresMayBeCalled() throws {
    #expect(try message("wamp.session.count", "[]", call: true).event == "wamp.session.count")
  }

  @Test func errorsHaveNamesToo() {
    #expect(throws: MessageProblem.self) { try answer("[]", error: "not a uri") }
    #expect(throws: MessageProblem.self) { try answer("[]", error: "") }
  }
}
