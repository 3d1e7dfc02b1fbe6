import Testing

@testable import GatewayCore

@Suite struct NearestNameTests {
  private static let names = [
    "send", "subscribe", "unsubscribe", "status", "request", "no_queue", "on_slow", "rpc.cancel",
  ]

  @Test(arguments: [
    ("snd", "send"), ("sned", "send"), ("sendd", "send"), ("SEND", "send"), ("Status", "status"), ("stats", "status"),
    ("subscirbe", "subscribe"), ("no-queue", "no_queue"), ("noqueue", "no_queue"), ("onslow", "on_slow"),
    ("rpc_cancel", "rpc.cancel"), ("unsubscribed", "unsubscribe"), ("requests", "request"),
  ])
  func findsWhatWasMeant(_ written: String, _ meant: String) {
    #expect(NearestName.of(written, among: Self.names) == meant)
  }

  @Test(arguments: ["", "x", "publish", "emit", "história", "ssssssss"])
  func keepsSilentAboutStrangers(_ written: String) {
    #expect(NearestName.of(written, among: Self.names) == nil)
  }

  @Test func doesNotCompareEndlessNames() {
    #expect(NearestName.of(String(repeating: "send", count: 100_000), among: Self.names) == nil)
    #expect(NearestName.of("send", among: [String(repeating: "s", count: 65)]) == nil)
    #expect(NearestName.of("send", among: [String]()) == nil)
  }
}
