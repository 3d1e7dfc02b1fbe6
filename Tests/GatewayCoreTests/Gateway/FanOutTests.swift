import Testing

@testable import GatewayCore

/// Many subscribers of one event, most of which call their subscription the same.
@Suite struct FanOutTests {
  private let harness = GatewayHarness()

  private func line(_ id: String, _ seq: Int, _ event: String, _ args: String) -> String {
    #"{"jsonrpc":"2.0","method":"event","params":{"subscription":"\#(id)","seq":\#(seq),"#
      + #""time":\#(harness.time.wallMilliseconds),"event":"\#(event)","args":[\#(args)]}}"#
  }

  @Test func everySubscriberGetsTheEventUnderItsOwnId() {
    let clients = (0..<9).map { _ in harness.client() }
    for (index, client) in clients.enumerated() {
      let own = index % 3 == 0 ? #","subscription":"own\#(index)""# : ""
      client.call("subscribe", #"{"upstream":"chat"\#(own)}"#)
    }
    harness.upstream.channel.accept()
    let long = "\"" + String(repeating: "x", count: 9_000) + "\""
    harness.upstream.channel.emit("news", "1")
    harness.upstream.channel.emit("news", long)
    harness.upstream.channel.emit("other", "2")
    for (index, client) in clients.enumerated() {
      let id = index % 3 == 0 ? "own\(index)" : "s1"
      #expect(client.read() == [line(id, 1, "news", "1"), line(id, 2, "news", long), line(id, 3, "other", "2")])
    }
  }

  @Test func aLongEventIsNotCopiedForEachSubscriber() {
    let clients = (0..<5).map { _ in harness.client() }
    for client in clients { client.call("subscribe", #"{"upstream":"chat"}"#) }
    harness.upstream.channel.accept()
    let long = "\"" + String(repeating: "x", count: ClientOutput.sharedFrom) + "\""
    for number in 1...3 { harness.upstream.channel.emit("news", number == 3 ? "3" : long) }
    let places = clients.compactMap { client -> UnsafeRawPointer? in
      guard let output = client.session?.output else { return nil }
      // The head of the first event is each one's own.
      harness.gateway.outputs.consume(output.pointee.pending.count, of: output)
      return output.pointee.pending.baseAddress
    }
    #expect(places.count == 5)
    #expect(Set(places).count == 1)
    for client in clients {
      #expect(client.read().dropFirst() == [line("s1", 2, "news", long), line("s1", 3, "news", "3")])
    }
  }

  @Test func memoryThatTheHistoryUsesAgainIsNotTakenFromThoseWhoWait() {
    let (waiting, reading) = (harness.client(), harness.client())
    waiting.call("subscribe", #"{"upstream":"chat","credit":0}"#)
    reading.call("subscribe", #"{"upstream":"chat"}"#)
    harness.upstream.channel.accept()
    // More than the history keeps.
    let expected = (1...1_500).map { line("s1", $0, "news", "\"\(String(repeating: "x", count: $0 % 37))\",\($0)") }
    var read: [String] = []
    for number in 1...1_500 {
      harness.upstream.channel.emit("news", "\"\(String(repeating: "x", count: number % 37))\",\(number)")
      read += reading.read()
    }
    #expect(read == expected)
    #expect(waiting.read() == [])
    #expect(waiting.call("credit", #"{"subscription":"s1","n":2000}"#).filter { $0.contains(#""event""#) } == expected)
  }

  @Test func whoLeavesOrComesBetweenTwoEventsIsNoticed() {
    let clients = (0..<6).map { _ in harness.client() }
    for client in clients { client.call("subscribe", #"{"upstream":"chat","events":["news"]}"#) }
    harness.upstream.channel.accept()
    harness.upstream.channel.emit("news", "1")
    #expect(clients[0].read() == [line("s1", 1, "news", "1")])
    clients[0].call("unsubscribe", #"{"subscription":"s1"}"#)
    clients[1].disconnect()
    let late = harness.client()
    late.call("subscribe", #"{"upstream":"chat","events":["ne*"],"subscription":"late"}"#)
    harness.upstream.channel.emit("news", "2")
    #expect(clients[0].read() == [])
    for client in clients[2...] {
      #expect(client.read() == [line("s1", 1, "news", "1"), line("s1", 2, "news", "2")])
    }
    #expect(late.read() == [line("late", 2, "news", "2")])
  }
}
