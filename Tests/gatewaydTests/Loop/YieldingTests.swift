@testable import GatewayCore
import Testing

@testable import gatewayd

/// Who has to wait for whom in a loop: `afterOthers`, and whether anybody else is ready.
@Suite struct YieldingTests {
  @Test func whoStepsAsideGoesOnBehindAllThatIsReady() throws {
    let loop = try EventLoop()
    let pair = try Descriptors.pair()
    defer { Descriptors.close(pair) }
    var trace: [String] = []
    let source = try loop.addIO(pair.0, .readable) { _ in
      trace.append("read")
      Descriptors.drain(pair.0)
      loop.onNextTurn { trace.append("what it put off") }
    }
    loop.beforeSleep = { _ in if trace.last == "what it put off" { trace.append("flush") } }
    #expect(!loop.isAnyoneReady())
    loop.afterOthers {
      trace.append("one")
      loop.afterOthers { trace.append("again") }
    }
    Descriptors.write(pair.1, "x")
    #expect(loop.isAnyoneReady())
    // It does not sleep as long as something has yielded.
    try loop.turn()
    #expect(trace == ["read", "what it put off", "flush", "one"])
    #expect(loop.hasDeferred)
    try loop.turn()
    #expect(trace.last == "again")
    #expect(!loop.hasDeferred)
    withExtendedLifetime(source) {}
  }

  @Test func whoStepsAsideForSomebodyIsNotServedBeforeThem() throws {
    let loop = try EventLoop()
    let pairs = try (0..<2).map { _ in try Descriptors.pair() }
    defer { pairs.forEach(Descriptors.close) }
    var trace: [String] = []
    let late = try loop.addIO(pairs[1].0, .readable) { _ in
      trace.append("the other one")
      Descriptors.drain(pairs[1].0)
    }
    let busy = try loop.addIO(pairs[0].0, .readable) { _ in
      Descriptors.drain(pairs[0].0)
      // Ready too late for this look at the kernel.
      Descriptors.write(pairs[1].1, "x")
      trace.append("begins")
      loop.afterOthers { trace.append("goes on") }
    }
    Descriptors.write(pairs[0].1, "x")
    while trace.count < 3 { try loop.turn() }
    #expect(trace == ["begins", "the other one", "goes on"])
    withExtendedLifetime((late, busy)) {}
  }

  @Test func whatHasYieldedCountsAsWaitingAndIsWrittenForBeforeTheNext() throws {
    let loop = try EventLoop()
    let pair = try Descriptors.pair()
    defer { Descriptors.close(pair) }
    let source = try loop.addIO(pair.0, .readable) { _ in }
    var trace: [String] = []
    loop.beforeSleep = { _ in if trace.last != "flush" { trace.append("flush") } }
    for name in ["one", "two"] {
      loop.afterOthers { trace.append("\(name) \(loop.isAnyoneReady(otherThan: source))") }
    }
    #expect(loop.isAnyoneReady(otherThan: source))
    try loop.turn()
    #expect(trace == ["flush", "one true", "flush", "two false", "flush"])
    #expect(!loop.isAnyoneReady(otherThan: source))
  }

  @Test func aSourceIsNoOtherOneThanItself() throws {
    let loop = try EventLoop()
    let pairs = try (0..<2).map { _ in try Descriptors.pair() }
    defer { pairs.forEach(Descriptors.close) }
    let sources = try pairs.map { pair in try loop.addIO(pair.0, .readable) { _ in } }
    #expect(!loop.isAnyoneReady(otherThan: sources[0]))
    Descriptors.write(pairs[0].1, "x")
    #expect(!loop.isAnyoneReady(otherThan: sources[0]))
    #expect(loop.isAnyoneReady(otherThan: sources[1]))
    Descriptors.write(pairs[1].1, "x")
    #expect(loop.isAnyoneReady(otherThan: sources[0]))
  }

  @Test func whatASourceHasForOneClientDoesNotInterruptThatClient() throws {
    let loop = try EventLoop()
    let pairs = try (0..<2).map { _ in try Descriptors.pair() }
    defer { pairs.forEach(Descriptors.close) }
    var recipient: Int?
    loop.beforeSleep = { _ in loop.noteRecipient(recipient) }
    let sources = try pairs.map { pair in try loop.addIO(pair.0, .readable) { _ in Descriptors.drain(pair.0) } }
    func serve(_ index: Int, for client: Int?) throws {
      recipient = client
      loop.afterOthers {}
      Descriptors.write(pairs[index].1, "x")
      try loop.turn(sleepingAtMost: .zero)
    }
    try serve(0, for: 7)
    #expect(!loop.isAnyoneReady(besides: 7))
    Descriptors.write(pairs[0].1, "x")
    #expect(!loop.isAnyoneReady(besides: 7))
    #expect(loop.isAnyoneReady(besides: 8))
    #expect(loop.isAnyoneReady())
    Descriptors.write(pairs[1].1, "x")
    // It is not known yet which client the other one is for.
    #expect(loop.isAnyoneReady(besides: 7))
    try serve(1, for: nil)
    try serve(0, for: nil)
    Descriptors.write(pairs[0].1, "x")
    #expect(loop.isAnyoneReady(besides: 7))
    withExtendedLifetime(sources) {}
  }

  @Test func aSourceThatHadNothingForAnybodyThisTimeIsNotTakenForOneThatHad() throws {
    let loop = try EventLoop()
    let pair = try Descriptors.pair()
    defer { Descriptors.close(pair) }
    var recipient: Int? = 7
    loop.beforeSleep = { _ in if let recipient { loop.noteRecipient(recipient) } }
    let source = try loop.addIO(pair.0, .readable) { _ in Descriptors.drain(pair.0) }
    func serve() throws {
      loop.afterOthers {}
      Descriptors.write(pair.1, "x")
      try loop.turn(sleepingAtMost: .zero)
      Descriptors.write(pair.1, "x")
    }
    try serve()
    #expect(!loop.isAnyoneReady(besides: 7))
    recipient = nil
    try serve()
    #expect(loop.isAnyoneReady(besides: 7))
    withExtendedLifetime(source) {}
  }

  @Test func aSourceThatHasYieldedIsNotReadAndIsStillForWhomItWas() throws {
    let loop = try EventLoop()
    let pair = try Descriptors.pair()
    defer { Descriptors.close(pair) }
    var trace: [String] = []
    var source: EventLoop.IOSource?
    loop.beforeSleep = { _ in if trace.last?.hasSuffix("reads") == true { loop.noteRecipient(7) } }
    source = try loop.addIO(pair.0, .readable) { _ in
      trace.append("reads")
      loop.afterOthers(source) { trace.append("reads on") }
    }
    Descriptors.write(pair.1, "x")
    try loop.turn()
    #expect(trace == ["reads"])
    #expect(!loop.isAnyoneReady(besides: 7))
    #expect(loop.isAnyoneReady(besides: 8))
    #expect(loop.isAnyoneReady())
    // The kernel still says that it can be read.
    try loop.turn()
    #expect(trace == ["reads", "reads on"])
    // What it had to say then was for no client.
    #expect(loop.isAnyoneReady(besides: 7))
    try loop.turn()
    #expect(trace == ["reads", "reads on", "reads"])
    source = nil
  }

  @Test func aSourceThatHasYieldedIsToldThatItMayWriteAndNothingElse() throws {
    let loop = try EventLoop()
    let pair = try Descriptors.pair()
    defer { Descriptors.close(pair) }
    var readiness: [EventLoop.Readiness] = []
    var source: EventLoop.IOSource?
    loop.beforeSleep = { _ in if readiness.count == 1 { loop.noteRecipient(7) } }
    source = try loop.addIO(pair.0, .readable) {
      readiness.append($0)
      guard readiness.count == 1 else { return }
      source?.interest = [.readable, .writable]
      loop.afterOthers(source) { loop.afterOthers(source) {} }
    }
    Descriptors.write(pair.1, "x")
    try loop.turn()
    try loop.turn()
    #expect(readiness == [.readable, .writable])
    source?.interest = .readable
    #expect(loop.isAnyoneReady(besides: 8))
    source = nil
  }

  @Test func whatASourceSaysWhenItGoesOnIsForWhomItSaysIt() throws {
    let loop = try EventLoop()
    let pair = try Descriptors.pair()
    defer { Descriptors.close(pair) }
    var recipient: Int?
    loop.beforeSleep = { _ in
      if let known = recipient { loop.noteRecipient(known) }
      recipient = nil
    }
    let source = try loop.addIO(pair.0, .readable) { _ in }
    loop.afterOthers(source) { recipient = 7 }
    Descriptors.write(pair.1, "x")
    #expect(loop.isAnyoneReady(besides: 7))
    try loop.turn()
    #expect(!loop.isAnyoneReady(besides: 7))
    withExtendedLifetime(source) {}
  }

  @Test func aSourceThatWentAsideAndAwayIsForgotten() throws {
    let loop = try EventLoop()
    let pairs = try (0..<2).map { _ in try Descriptors.pair() }
    defer { pairs.forEach(Descriptors.close) }
    var source: EventLoop.IOSource? = try loop.addIO(pairs[0].0, .readable) { _ in }
    loop.afterOthers(source) {}
    source = nil
    #expect(!loop.isAnyoneReady(besides: 7))
    // It has the place of the one that went, and has not yielded.
    var isRead = false
    source = try loop.addIO(pairs[1].0, .readable) { _ in isRead = true }
    Descriptors.write(pairs[1].1, "x")
    try loop.turn()
    #expect(isRead)
    withExtendedLifetime(source) {}
  }

  @Test func whoHasWaitedLongestUntilAllIsWrittenReadsFirst() throws {
    let loop = try EventLoop()
    let pairs = try (0..<2).map { _ in try Descriptors.pair() }
    defer { pairs.forEach(Descriptors.close) }
    let sources = try pairs.map { try loop.addIO($0.0, .readable) { _ in } }
    var trace: [Int] = []
    var isWriting = true
    loop.beforeSleep = { $0.hasWritesLeft = isWriting }
    func hold(_ number: Int) {
      loop.afterWrites(sources[number]) {
        trace.append(number)
        // What it has read is written in several turns.
        isWriting = true
        hold(number)
      }
    }
    hold(0)
    hold(1)
    for _ in 0..<3 { try loop.turn() }
    #expect(trace.isEmpty && loop.holdsReads)
    for count in 1...4 {
      isWriting = false
      while trace.count < count { try loop.turn() }
      try loop.turn()
      #expect(trace == Array([0, 1, 0, 1].prefix(count)))
    }
    withExtendedLifetime(sources) {}
  }

  @Test func whatIsWrittenInSeveralTurnsGoesOnOnceInEach() throws {
    let loop = try EventLoop()
    let pair = try Descriptors.pair()
    defer { Descriptors.close(pair) }
    let source = try loop.addIO(pair.0, .readable) { _ in Descriptors.drain(pair.0) }
    var flushes = 0
    loop.beforeSleep = {
      flushes += 1
      $0.hasWritesLeft = true
    }
    Descriptors.write(pair.1, "x")
    for turn in 1...3 {
      loop.afterOthers {}
      try loop.turn()
      #expect(flushes == turn)
    }
    withExtendedLifetime(source) {}
  }

  @Test func manyThatHaveYieldedDoNotGoOnAllInOneTurn() throws {
    let loop = try EventLoop()
    var trace: [Int] = []
    for number in 0..<3 {
      loop.afterOthers {
        trace.append(number)
        let end = loop.time.now + .milliseconds(1)
        while loop.time.now < end {}
      }
    }
    for count in 1...3 {
      #expect(loop.hasDeferred)
      try loop.turn()
      #expect(trace == Array(0..<count))
    }
    #expect(!loop.hasDeferred)
  }
}
