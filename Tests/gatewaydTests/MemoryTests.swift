import GatewayCore
import Testing

@testable import gatewayd

struct MemoryTests {
  private final class ManualClock: TimeSource {
    var now = MonotonicInstant(nanoseconds: 0)
    let wallMilliseconds: Int64 = 0
  }

  @Test func memoryOfLargeMessagesGoesBackOnceWhenNoneCameForAWhile() {
    let clock = ManualClock()
    let timers = Timers(time: clock)
    var givenBack = 0
    let memory = WarmMemory(timers: timers) { givenBack += 1 }
    #expect(timers.nextDeadline == nil)
    for _ in 0..<5 {
      memory.noteUse()
      clock.now = clock.now + WarmMemory.restLimit
      timers.fire()
      #expect(givenBack == 0)
    }
    for _ in 0..<3 {
      clock.now = clock.now + WarmMemory.restLimit
      timers.fire()
    }
    #expect(givenBack == 1)
    // An idle daemon is not woken.
    #expect(timers.nextDeadline == nil)
  }

  @Test func theKernelIsAskedForTheSizeOnceInAWhile() {
    let clock = ManualClock()
    var questions = 0
    let memory = ResidentMemory(time: clock) {
      questions += 1
      return questions
    }
    #expect((0..<3).map { _ in memory.bytes } == [1, 1, 1])
    clock.now = clock.now + ResidentMemory.validity
    #expect(memory.bytes == 2)
    #expect(ResidentMemory.fromKernel() > 1 << 20)
  }
}
