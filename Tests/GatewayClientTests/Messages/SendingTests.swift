import Testing

@testable import GatewayClient

@Suite struct SendingTests {
  @Test func timesAreWholeMillisecondsWithinWhatTheProtocolTakes() {
    #expect(Duration.microseconds(1).wholeMilliseconds == 1 && Duration.milliseconds(1_500).wholeMilliseconds == 1_500)
    #expect(Duration.seconds(-1).wholeMilliseconds == 0)
    #expect(Duration.seconds(Int64.max).wholeMilliseconds == 315_360_000_000)
  }

  @Test func onlyWhatIsGivenIsSaid() {
    var params = Target("https://chat.example", namespace: "/a", auth: ["t": "x"]).params
    SendOptions().add(to: &params)
    #expect(
      String(decoding: params.text, as: UTF8.self)
        == #"{"url":"https://chat.example","namespace":"/a","auth":{"t":"x"}}"#)
    params = Target("chat").params
    SendOptions(key: "k", ttl: .seconds(1), retries: 2, noQueue: true, kwargs: ["$bin": 1]).add(to: &params)
    #expect(
      String(decoding: params.text, as: UTF8.self)
        == #"{"upstream":"chat","key":"k","ttl":1000,"retries":2,"no_queue":true,"kwargs":{"$$bin":1}}"#)
  }

  @Test func noDescriptionOfATargetShowsWhatIsSecret() {
    #expect("\(Target("https://chat.example", auth: ["token": "secret"]))" == "https://chat.example")
  }
}
