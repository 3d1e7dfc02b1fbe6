import Testing

@testable import GatewayCore

@Suite struct ServerMemoryTests {
  @Test func newestIsKeptWhereThereIsNoRoom() {
    var memory = ServerMemory<Int, String>(limit: 2)
    for key in 1...3 { memory[key] = "\(key)" }
    #expect(memory[3] == "3")
    #expect((1...3).filter { memory[$0] != nil }.count == 2)
  }

  @Test func changingWhatIsKnownForgetsNothing() {
    var memory = ServerMemory<Int, String>(limit: 2)
    memory[1] = "a"
    memory[2] = "b"
    memory[2] = "c"
    #expect(memory[1] == "a" && memory[2] == "c")
    memory[1] = nil
    #expect(memory[1] == nil && memory[2] == "c")
  }

  @Test func refusalCountsForAnHourAndForItsServerAlone() {
    var memory = RefusalMemory<String, Int>()
    let now = MonotonicInstant(nanoseconds: 5)
    memory.note(100, of: "a", at: now)
    #expect(memory.value(of: "a", at: now + .seconds(3_599)) == 100)
    #expect(memory.value(of: "b", at: now) == nil)
    #expect(memory.value(of: "a", at: now + .seconds(3_600)) == nil)
    memory.note(50, of: "a", at: now + .seconds(3_600))
    #expect(memory.value(of: "a", at: now + .seconds(3_601)) == 50)
  }
}
