import CLinux
@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

struct ProcessMemoryTests {
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

  @Test func memoryThatIsFreedLongAfterItsUseGoesBackToo() {
    let clock = ManualClock()
    let timers = Timers(time: clock)
    var (givenBack, free) = (0, 100_000)
    let memory = WarmMemory(timers: timers, giveBack: { givenBack += 1 }, freeBytes: { free })
    func lookAfter() {
      memory.lookAfter()
      for _ in 0..<2 {
        clock.now = clock.now + WarmMemory.restLimit
        timers.fire()
      }
    }
    lookAfter()
    #expect(givenBack == 0)
    free += WarmMemory.leftoverLimit
    lookAfter()
    #expect(givenBack == 1)
    // The same addresses, without memory behind them.
    lookAfter()
    #expect(givenBack == 1)
    free -= 1_000_000
    lookAfter()
    free += WarmMemory.leftoverLimit
    lookAfter()
    #expect(givenBack == 2)
    #expect(timers.nextDeadline == nil)
  }

  /// The address sanitizer has an allocator of its own.
  @Test(.enabled(if: getenv("GATEWAY_SANITIZE") == nil))
  func whatMallocKeepsIsSeen() {
    let blocks = (0..<64).map { _ in UnsafeMutableRawPointer.allocate(byteCount: 100_000, alignment: 16) }
    let before = gw_free_memory()
    for block in blocks.dropLast() { block.deallocate() }
    #expect(gw_free_memory() > before)
    blocks.last?.deallocate()
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
