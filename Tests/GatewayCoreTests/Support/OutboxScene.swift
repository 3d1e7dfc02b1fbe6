@testable import GatewayCore

/// A gateway with an outbox on a disk that the test plays, and one client: what the suites about durable sends begin with.
class OutboxScene {
  let store = FakeOutboxStore()
  let harness: GatewayHarness
  let client: HarnessClient

  convenience init() { self.init { _ in } }

  required init(_ configure: (inout Configuration) -> Void) {
    harness = GatewayHarness(outbox: .open(store, []), configure)
    client = harness.client()
  }

  var written: [String] { harness.upstream.channels.last?.written ?? [] }

  /// A send without disk, so that the connection is up.
  func connect() {
    client.call("send", #"{"upstream":"chat","event":"hi"}"#)
    harness.upstream.channel.accept()
    client.read()
  }

  /// The type of the error that is answered, if one is.
  static func error(_ lines: [String]) -> String? {
    HarnessClient.values(lines).first?["error"]?["data"]?["type"]?.stringValue
  }

  /// Event and state of each entry, as they are listed.
  func states() -> [String] {
    let result = HarnessClient.values(client.call("outbox.list", "{}", id: 99)).last?["result"]
    return (result?["entries"]?.elements ?? []).map {
      "\($0["event"]?.stringValue ?? "") \($0["state"]?.stringValue ?? "")"
    }
  }
}

/// One that sends with `delivery: durable`.
class DurableScene: OutboxScene {
  @discardableResult
  func send(_ event: String, _ more: String = "", id: Int = 1, durable: Bool = true) -> [String] {
    let delivery = durable ? #","delivery":"durable""# : ""
    return client.call("send", #"{"upstream":"chat","event":"\#(event)"\#(delivery)\#(more)}"#, id: id)
  }
}
