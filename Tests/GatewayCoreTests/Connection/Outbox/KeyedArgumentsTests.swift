import Testing

@testable import GatewayCore

@Suite struct KeyedArgumentsTests {
  @Test(arguments: [
    ("[]", #"[{"m":"k\""}]"#), ("[1]", #"[1,{"m":"k\""}]"#), ("[ 1 , { } ]", #"[ 1 , {"m":"k\"" } ]"#),
    (#"[{"a":1.50}]"#, #"[{"m":"k\"","a":1.50}]"#), (#"[{"m":2}]"#, #"[{"m":2},{"m":"k\""}]"#),
    (#"[{"$bin":"AA=="}]"#, #"[{"$bin":"AA=="},{"m":"k\""}]"#), (#"[{"a":"]"} ]"#, #"[{"m":"k\"","a":"]"} ]"#),
  ])
  func keyIsInTheLastObjectOrBehindTheLastArgument(_ args: String, _ expected: String) {
    let keyed = KeyedArguments.adding("k\"", as: "m", to: Array(args.utf8))
    #expect(String(decoding: keyed, as: UTF8.self) == expected)
  }
}
