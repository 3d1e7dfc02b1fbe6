@testable import GatewayCore

/// A daemon with its histories on a disk that outlives it.
final class HistoryScene {
  var store: FakeHistoryStore
  private let time = FakeTime()
  private let change: (inout HistorySettings) -> Void
  private(set) var harness: GatewayHarness
  /// Short names for epochs, in the order of their appearance: `A`, `B`…
  private var epochs: [String] = []
  private var runs: UInt64

  init(
    _ store: FakeHistoryStore = FakeHistoryStore(), seed: UInt64 = 1,
    _ change: @escaping (inout HistorySettings) -> Void = { _ in }
  ) {
    runs = seed
    self.store = store
    self.change = change
    harness = Self.daemon(store, time, seed: seed, change)
  }

  private static func daemon(
    _ store: FakeHistoryStore, _ time: FakeTime, seed: UInt64, _ change: @escaping (inout HistorySettings) -> Void
  ) -> GatewayHarness {
    GatewayHarness(histories: .success(store), time: time, seed: seed) { configuration in
      var settings = UpstreamSettings()
      settings.keep = .always
      settings.history.disk = true
      change(&settings.history)
      configuration.upstreams["chat"] = ConfiguredUpstream(
        url: UpstreamURL(scheme: "http", host: "chat.example"), settings: settings)
    }
  }

  var connection: Connection { harness.gateway.upstreams.pool.all[0] }
  var channel: FakeChannel { harness.upstream.channel }

  func emit(_ names: String...) {
    for name in names { channel.emit(name) }
  }

  /// What the daemon does before it writes to anybody.
  func flush() { harness.gateway.commitHistories() }

  /// The daemon dies at once, and another one begins.
  func crash() {
    runs += 1
    harness = Self.daemon(store, time, seed: runs, change)
  }

  /// The daemon stops in order, and another one begins.
  func restart() {
    harness.gateway.stop(reason: "test") {}
    harness.pass(.seconds(30))
    crash()
  }

  /// The epoch in force and the last number.
  var position: (epoch: String, sequence: UInt64) { (connection.stream.epoch, connection.stream.sequence) }

  /// `event 1`, `gap 1-3 expired`, `epoch B after 3`, behind `recovered true`.
  func subscribe(since epoch: String, _ sequence: UInt64) -> [String] {
    let client = harness.client()
    return digest(
      client.call("subscribe", #"{"upstream":"chat","since":{"epoch":"\#(epoch)","seq":\#(sequence)}}"#))
  }

  func digest(_ lines: [String]) -> [String] {
    HarnessClient.values(lines).map { value in
      let params = value["params"]
      switch value["method"]?.stringValue {
      case "event": return "event \(params?["seq"]?.integerValue ?? -1)"
      case "gap" where params?["reason"] == .string("upstream"):
        return "epoch \(name(params?["epoch"]?.stringValue ?? "")) after \(params?["seq"]?.integerValue ?? -1)"
      case "gap":
        return "gap \(params?["from"]?.integerValue ?? -1)-\(params?["to"]?.integerValue ?? -1)"
          + " \(params?["reason"]?.stringValue ?? "")"
      case let other?: return other
      case nil: return "recovered \(value["result"]?["recovered"] == .bool(true))"
      }
    }
  }

  /// The short name of an epoch.
  func name(_ epoch: String) -> String {
    if !epochs.contains(epoch) { epochs.append(epoch) }
    return String(UnicodeScalar(UInt8(ascii: "A") + UInt8(epochs.firstIndex(of: epoch) ?? 0)))
  }

  var reports: [HistoryReport] {
    harness.facts.compactMap { if case .history(_, _, let report) = $0 { report } else { nil } }
  }
}
