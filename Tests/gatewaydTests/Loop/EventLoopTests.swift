@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

@Suite struct EventLoopTests {
  @Test func exitEndsRunWithItsCode() throws {
    let loop = try EventLoop()
    loop.onNextTurn { loop.exit(7) }
    #expect(try loop.run() == 7)
  }

  @Test func timersFireInOrderAndNotEarly() throws {
    let loop = try EventLoop()
    var fired: [String] = []
    let start = loop.time.now
    loop.timers.after(.milliseconds(30)) {
      fired.append("late")
      loop.exit(0)
    }
    loop.timers.after(.milliseconds(10)) { fired.append("early") }
    _ = try loop.run()
    #expect(fired == ["early", "late"])
    #expect(loop.time.now - start >= .milliseconds(30))
  }

  @Test func timerScheduledFromATimerFires() throws {
    let loop = try EventLoop()
    loop.timers.after(.milliseconds(1)) { loop.timers.after(.milliseconds(1)) { loop.exit(3) } }
    #expect(try loop.run() == 3)
  }

  @Test func cancelledTimerCostsAtMostOneIdleTurn() throws {
    let loop = try EventLoop()
    let first = loop.timers.after(.seconds(1)) { Issue.record("cancelled, but fired") }
    var turns = 0
    loop.beforeSleep = { _ in turns += 1 }
    loop.timers.after(.milliseconds(1_200)) { loop.exit(0) }
    try loop.turn(sleepingAtMost: .zero)
    loop.timers.cancel(first)
    _ = try loop.run()
    #expect(turns <= 3)
  }

  @Test func workPutOffAgainDoesNotHoldTheLoop() throws {
    let loop = try EventLoop()
    var turns = 0
    var isOver = false
    func again() {
      turns += 1
      if !isOver { loop.onNextTurn(again) }
    }
    again()
    loop.timers.after(.milliseconds(5)) { loop.exit(0) }
    #expect(try loop.run() == 0)
    #expect(turns > 1)
    isOver = true
    try loop.turn(sleepingAtMost: .zero)
  }

  @Test func manyTimersThatRingTogetherLetOthersHaveTheirTurn() throws {
    let loop = try EventLoop()
    let pair = try Descriptors.pair()
    var rung = 0
    var rungBefore: Int?
    let source = try loop.addIO(pair.0, .readable) { _ in rungBefore = rungBefore ?? rung }
    Descriptors.write(pair.1, "x")
    for _ in 0..<20 {
      loop.timers.after(.zero) {
        rung += 1
        // Longer than timers have at a stretch.
        let end = loop.time.now + .milliseconds(2)
        while loop.time.now < end {}
      }
    }
    while rung < 20 { try loop.turn() }
    #expect(try #require(rungBefore) < 20)
    withExtendedLifetime(source) {}
    Descriptors.close(pair)
  }

  @Test func outputIsFlushedBeforeTheLoopSleepsAndAfterEverySource() throws {
    let loop = try EventLoop()
    let pair = try Descriptors.pair()
    var trace: [String] = []
    loop.beforeSleep = { _ in if trace.last != "flush" { trace.append("flush") } }
    let source = try loop.addIO(pair.0, .readable) { _ in
      trace.append("read")
      Descriptors.drain(pair.0)
      loop.exit(0)
    }
    Descriptors.write(pair.1, "x")
    _ = try loop.run()
    try loop.turn(sleepingAtMost: .zero)
    #expect(trace == ["flush", "read", "flush"])
    withExtendedLifetime(source) {}
    Descriptors.close(pair)
  }

  @Test func theLongestTurnIsThatOfOneThingAndNotTheSumOfThem() throws {
    let loop = try EventLoop(turnClock: .processor)
    func work(for duration: Duration) {
      let end = SystemTime.read(CLOCK_THREAD_CPUTIME_ID) + duration.nanoseconds
      while SystemTime.read(CLOCK_THREAD_CPUTIME_ID) < end {}
    }
    for _ in 0..<10 { loop.onNextTurn { work(for: .milliseconds(20)) } }
    try loop.turn(sleepingAtMost: .zero)
    loop.timers.after(.milliseconds(1)) { loop.exit(0) }
    _ = try loop.run()
    #expect(loop.longestTurn >= .milliseconds(20) && loop.longestTurn < .milliseconds(100))
  }

  @Test func sleepIsNoPartOfATurn() throws {
    let loop = try EventLoop()
    loop.timers.after(.seconds(1)) { loop.exit(0) }
    _ = try loop.run()
    try loop.turn(sleepingAtMost: .milliseconds(1))
    #expect(loop.longestTurn > .zero && loop.longestTurn < .milliseconds(900))
  }

  @Test func waitingForAnythingElseIsPartOfATurn() throws {
    let loop = try EventLoop()
    loop.onNextTurn {
      usleep(30_000)
      loop.exit(0)
    }
    _ = try loop.run()
    try loop.turn(sleepingAtMost: .milliseconds(1))
    #expect(loop.longestTurn >= .milliseconds(30))
  }

  @Test func sourceMayBeLetGoInsideItsOwnHandler() throws {
    let loop = try EventLoop()
    let pair = try Descriptors.pair()
    var calls = 0
    var source: EventLoop.IOSource?
    source = try loop.addIO(pair.0, .readable) { _ in
      calls += 1
      source = nil
    }
    Descriptors.write(pair.1, "x")
    loop.timers.after(.milliseconds(10)) { loop.exit(0) }
    _ = try loop.run()
    #expect(calls == 1)
    #expect(source == nil)
    Descriptors.close(pair)
  }

  @Test func sourceThatAnotherLetGoInTheSameTurnIsNotCalled() throws {
    let loop = try EventLoop()
    let pairs = [try Descriptors.pair(), try Descriptors.pair()]
    var calls = 0
    var sources: [EventLoop.IOSource?] = []
    for (own, pair) in pairs.enumerated() {
      let source = try loop.addIO(pair.0, .readable) { _ in
        calls += 1
        Descriptors.drain(pair.0)
        sources[1 - own] = nil
        // Takes the slot of the one that has gone.
        if let fresh = try? loop.addIO(pairs[1 - own].0, [], { _ in Issue.record("nothing was asked for") }) {
          sources.append(fresh)
        }
      }
      sources.append(source)
    }
    for pair in pairs { Descriptors.write(pair.1, "x") }
    try loop.turn(sleepingAtMost: .seconds(5))
    #expect(calls == 1)
    sources = []
    pairs.forEach(Descriptors.close)
  }

  @Test func everySourceThatIsReadyHasItsTurnAtOnce() throws {
    let loop = try EventLoop()
    let pairs = try (0..<40).map { _ in try Descriptors.pair() }
    var called: Set<Int> = []
    var flushes = 0
    loop.beforeSleep = { _ in flushes += 1 }
    let sources = try pairs.enumerated().map { number, pair in
      try loop.addIO(pair.0, .readable) { _ in called.insert(number) }
    }
    for pair in pairs { Descriptors.write(pair.1, "x") }
    try loop.turn(sleepingAtMost: .seconds(5))
    #expect(called.count == 40)
    #expect(flushes == 40)
    withExtendedLifetime(sources) {}
    pairs.forEach(Descriptors.close)
  }

  @Test func whatAnotherThreadBroughtIsFlushedBeforeWhatWasPutOff() throws {
    let loop = try EventLoop()
    let mailbox = try Mailbox<Int>()
    var trace: [String] = []
    loop.beforeSleep = { _ in trace.append("flush") }
    let source = try loop.receive(from: mailbox) { _ in
      trace.append("letter")
      loop.onNextTurn {
        trace.append("work")
        loop.exit(0)
      }
    }
    mailbox.post(1)
    #expect(try loop.run() == 0)
    let start = try #require(trace.firstIndex(of: "letter"))
    #expect(trace[start...].prefix(3) == ["letter", "flush", "work"])
    withExtendedLifetime(source) {}
  }

  @Test func exitIsObeyedBeforeTheNextSource() throws {
    let loop = try EventLoop()
    let pairs = [try Descriptors.pair(), try Descriptors.pair()]
    var calls = 0
    let sources = try pairs.map { pair in
      try loop.addIO(pair.0, .readable) { _ in
        calls += 1
        loop.exit(0)
      }
    }
    for pair in pairs { Descriptors.write(pair.1, "x") }
    #expect(try loop.run() == 0)
    #expect(calls == 1)
    withExtendedLifetime(sources) {}
    pairs.forEach(Descriptors.close)
  }

  @Test func aSignalWithoutAnythingElseEndsTheSleep() throws {
    SystemEvents.takeSignals([SIGUSR1])
    let loop = try EventLoop()
    var heard = 0
    try loop.system.onSignal(SIGUSR1) { heard += 1 }
    try loop.turn(sleepingAtMost: .zero)
    for expected in 1...3 {
      pthread_kill(pthread_self(), SIGUSR1)
      try loop.turn(sleepingAtMost: .seconds(5))
      #expect(heard == expected)
    }
  }

  @Test func interestCanChangeFromReadingToWriting() throws {
    let loop = try EventLoop()
    let pair = try Descriptors.pair()
    var seen: EventLoop.Readiness = []
    let source = try loop.addIO(pair.0, .readable) { readiness in
      seen = readiness
      loop.exit(0)
    }
    source.interest = .writable
    _ = try loop.run()
    #expect(seen == .writable)
    Descriptors.close(pair)
  }

  @Test func hangUpIsReportedUnasked() throws {
    let loop = try EventLoop()
    let pair = try Descriptors.pair()
    var seen: EventLoop.Readiness = []
    let source = try loop.addIO(pair.0, []) { readiness in
      seen = readiness
      loop.exit(0)
    }
    Glibc.close(pair.1)
    _ = try loop.run()
    #expect(seen.contains(.hungUp))
    withExtendedLifetime(source) {}
    Glibc.close(pair.0)
  }

  @Test func badDescriptorIsAnErrorWithTheSystemsReason() throws {
    let loop = try EventLoop()
    #expect(throws: SystemError("watch a descriptor", code: EBADF)) { _ = try loop.addIO(9_999, .readable) { _ in } }
    #expect(
      SystemError("watch a descriptor", code: EBADF).description == "cannot watch a descriptor: Bad file descriptor")
  }

  @Test func signalReachesItsHandler() throws {
    SystemEvents.takeSignals([SIGUSR2])
    let loop = try EventLoop()
    try loop.system.onSignal(SIGUSR2) { [unowned loop] in loop.exit(12) }
    pthread_kill(pthread_self(), SIGUSR2)
    #expect(try loop.run() == 12)
  }

  @Test func watchdogIsOffWhenNobodyAsksForIt() throws {
    #expect(try EventLoop().system.startWatchdog() == false)
  }

  @Test func lettersOfOtherThreadsArriveInOrder() throws {
    let loop = try EventLoop()
    let mailbox = try Mailbox<Int>()
    var received: [Int] = []
    let source = try loop.receive(from: mailbox) { letter in
      received.append(letter)
      if received.count == 20_000 { loop.exit(0) }
    }
    try Descriptors.thread { for letter in 0..<20_000 { mailbox.post(letter) } }
    _ = try loop.run()
    #expect(received == Array(0..<20_000))
    withExtendedLifetime(source) {}
  }

  @Test func lettersOfSeveralThreadsAllArrive() throws {
    let loop = try EventLoop()
    let mailbox = try Mailbox<Int>()
    var sum = 0
    var count = 0
    let source = try loop.receive(from: mailbox) { letter in
      sum += letter
      count += 1
      if count == 40_000 { loop.exit(0) }
    }
    for _ in 0..<4 { try Descriptors.thread { for letter in 1...10_000 { mailbox.post(letter) } } }
    _ = try loop.run()
    #expect(sum == 4 * 10_000 * 10_001 / 2)
    withExtendedLifetime(source) {}
  }

  @Test func nothingIsLeftOpenWhenALoopGoes() throws {
    let before = Descriptors.openCount()
    for _ in 0..<50 {
      let loop = try EventLoop()
      let mailbox = try Mailbox<Int>()
      let source = try loop.receive(from: mailbox) { _ in }
      loop.timers.after(.seconds(60)) {}
      mailbox.post(1)
      try loop.turn(sleepingAtMost: .zero)
      withExtendedLifetime(source) {}
    }
    // Other suites run beside this one: only a leak of one per loop would show as 50.
    #expect(Descriptors.openCount() < before + 40)
  }
}

@Suite struct SystemSourcesTests {
  @Test func monotonicClockAdvancesAndWallClockIsInMilliseconds() {
    let time = SystemTime()
    let first = time.now
    #expect(time.now >= first)
    #expect(time.wallMilliseconds > 1_700_000_000_000)
    #expect(time.wallMilliseconds < 100_000_000_000_000)
  }

  @Test func randomNumbersDoNotRepeatAcrossRefills() {
    let random = SystemRandom()
    #expect(Set((0..<1_000).map { _ in random.bits() }).count == 1_000)
  }
}
