import Testing

@testable import GatewayClient

@Suite struct PromiseTests {
  @Test func whatComesFirstCounts() async throws {
    let promise = Promise<Int>()
    #expect(promise.settle(.success(1)))
    #expect(!promise.settle(.success(2)))
    #expect(try await promise.value { Issue.record("nobody was cancelled") } == 1)
  }

  @Test func aTaskThatIsCancelledWithdrawsAndTheValueIsNotGivenAway() async {
    let promise = Promise<Int>()
    await confirmation { withdrawn in
      let task = Task { try await promise.value { withdrawn() } }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    #expect(!promise.settle(.success(1)), "whoever offers a value learns that nobody takes it")
  }

  @Test func aTaskThatWaitsGoesOnWhenItIsWoken() async throws {
    let promise = Promise<Int>()
    async let value = promise.value {}
    #expect(promise.settle(.success(1)))
    promise.wake()
    #expect(try await value == 1)
  }
}
