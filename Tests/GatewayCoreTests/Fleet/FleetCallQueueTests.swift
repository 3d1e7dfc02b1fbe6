import Testing

@testable import GatewayCore

@Suite struct FleetCallQueueTests {
  @Test func longCallsFillItByTheirBytes() {
    var queue = FleetCallQueue()
    let long = PreparedMessage(event: "", body: [], attachments: [[UInt8](repeating: 0, count: 1 << 20)])
    for number in 1...UInt64(64) {
      let call = FleetUpEntry.Call.write(long, ack: nil, row: nil)
      queue.append(
        FleetCallQueue.Item(FleetUpEntry(host: "b", life: 1, conversation: 1, number: number, call: call)))
    }
    #expect(!queue.isFull)
    queue.append(FleetCallQueue.Item(.holder, .leave(nil, of: long)))
    #expect(queue.isFull)
    let first = queue.popFirst()
    #expect(first?.sender == .host("b", life: 1, number: 1, row: nil))
    #expect(!queue.isFull && !queue.isEmpty)
  }

  @Test func whatNobodyWaitsForAnyMoreIsDroppedInPortions() {
    var queue = FleetCallQueue()
    for ack in 1...UInt64(5_000) { queue.append(FleetCallQueue.Item(.holder, .forget(ack: ack))) }
    var portions = 0
    while !queue.isEmpty, portions < 5_000 {
      queue.dropPortion()
      portions += 1
    }
    #expect(portions > 1 && portions < 10)
    queue.dropPortion()
    #expect(queue.isEmpty && !queue.isFull)
  }
}
