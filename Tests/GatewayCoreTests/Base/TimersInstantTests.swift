import GatewayCore
import Testing

@Suite struct TimersInstantTests {
  @Test func aDeadlineBeyondTheClockStaysInTheFuture() {
    let now = MonotonicInstant(nanoseconds: 5_000)
    #expect(now + .seconds(Int64.max) == MonotonicInstant(nanoseconds: .max))
    #expect(now + .nanoseconds(Int64.max) == MonotonicInstant(nanoseconds: .max))
    #expect(MonotonicInstant(nanoseconds: -5_000) + .seconds(Int64.min) == MonotonicInstant(nanoseconds: .min))
    #expect(now + .nanoseconds(-6_000) == MonotonicInstant(nanoseconds: -1_000))
  }
}
