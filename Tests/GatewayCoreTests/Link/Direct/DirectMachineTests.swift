import Testing

@testable import GatewayCore

@Suite struct DirectMachineTests {
  private let failure = UpstreamFailure(.closed, "gone")

  private func machine(_ events: DirectMachine.Event...) -> DirectMachine {
    var machine = DirectMachine()
    for event in events { _ = machine.handle(event) }
    return machine
  }

  @Test func oneConversationFromTheCredentialsToTheGoodbye() {
    var machine = DirectMachine()
    #expect(machine.handle(.secretsRead) == [.dial])
    #expect(machine.handle(.transportOpened) == [.beginHandshake])
    #expect(machine.handle(.ready) == [.announce])
    #expect(machine.handle(.leave) == [.sayGoodbye])
    #expect(machine.handle(.closeEnded) == [.hangUp])
    #expect(machine.state == .left)
  }

  @Test func everyUndecidedAttemptCanBeTriedAgain() {
    for var tried in [machine(.secretsRead), machine(.secretsRead, .transportOpened)] {
      #expect(tried.isOpening)
      #expect(tried.handle(.triedAgain) == [.hangUp])
      #expect(tried.state == .reading)
    }
  }

  @Test func aFailureEndsEveryStateButTheLast() {
    for var failing in [
      machine(), machine(.secretsRead), machine(.secretsRead, .transportOpened),
      machine(.secretsRead, .transportOpened, .ready),
    ] {
      #expect(failing.handle(.failed(failure)) == [.hangUp, .end(failure)])
      #expect(failing.handle(.failed(failure)).isEmpty)
    }
    var leaving = machine(.secretsRead, .transportOpened, .ready, .leave)
    #expect(leaving.handle(.failed(failure)) == [.hangUp])
  }

  @Test func nobodyIsToldOfAnythingAfterLeavingEarly() {
    for var left in [machine(), machine(.secretsRead), machine(.secretsRead, .transportOpened)] {
      #expect(left.handle(.leave) == [.hangUp])
      #expect(left.handle(.ready).isEmpty && left.handle(.transportOpened).isEmpty && !left.isOpening)
    }
  }
}
