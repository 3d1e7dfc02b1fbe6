import Testing

@testable import GatewayCore

private func words(_ text: String, _ name: String? = nil) throws -> String {
  let bytes = Array(text.utf8)
  return WAMPDescription.received(try WAMPReader.read(bytes.span.bytes), name: name, bytes.span.bytes)
}

@Suite struct WAMPDescriptionTests {
  @Test(arguments: [
    (
      #"[36,1,2,{},["abc",{"secret":1}],{"k":2}]"#, "com.example.topic",
      "EVENT com.example.topic (2 args, 1 kwarg, 27 bytes)"
    ),
    ("[36,1,2,{}]", "a", "EVENT a (0 args, 0 bytes)"),
    ("[33,7,9]", "a.b", "SUBSCRIBED a.b as 9"),
    ("[50,7,{\"progress\":true},[1]]", nil, "RESULT 7, in progress (1 arg, 3 bytes)"),
    (#"[8,48,7,{},"com.x.failed",[1]]"#, nil, "ERROR com.x.failed for CALL 7 (1 arg, 3 bytes)"),
    ("[68,3,2,{},[]]", "com.x.add", "INVOCATION 3 of com.x.add (0 args, 2 bytes)"),
    (#"[3,{"message":"no\nrealm"},"wamp.error.no_such_realm"]"#, nil, "ABORT wamp.error.no_such_realm: no realm"),
    (#"[6,{},"wamp.close.normal"]"#, nil, "GOODBYE wamp.close.normal"),
    (#"[4,"wampcra",{"challenge":"x"}]"#, nil, "CHALLENGE wampcra"),
    ("[2,5,{}]", nil, "WELCOME session 5"),
    ("[17,5,6]", nil, "PUBLISHED 5 as publication 6"),
    ("[69,5,{}]", nil, "INTERRUPT 5"),
  ])
  func aMessageIsPutIntoWords(_ text: String, _ name: String?, _ expected: String) throws {
    #expect(try words(text, name) == expected)
  }

  /// Combining marks are one character, however many they are.
  @Test func longWordsOfARouterTakeNoLongLine() throws {
    let name = "a" + String(repeating: "\u{301}", count: 10_000)
    for message in [#"[8,48,7,{},"\#(name)",[1]]"#, #"[3,{"message":"\#(name)"},"\#(name)"]"#] {
      #expect(try words(message).utf8.count < 1_000)
    }
  }
}
