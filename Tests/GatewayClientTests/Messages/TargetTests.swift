import Testing

@testable import GatewayClient

@Suite struct TargetTests {
  @Test func whatIsSaidOfAURLGoesAlongAndIsInNoDescription() {
    let target = Target("https://chat.example", auth: ["token": "secret"], options: ["headers": ["X-Key": "secret"]])
    #expect(
      String(decoding: target.params.text, as: UTF8.self)
        == #"{"url":"https://chat.example","auth":{"token":"secret"},"options":{"headers":{"X-Key":"secret"}}}"#)
    #expect(target.description == "https://chat.example")
  }
}
