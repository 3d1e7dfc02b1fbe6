import Testing

@testable import gatewayd

/// Who has to wait for whom in a loop: `afterOthers`, and whether anybody else is ready.
@Suite struct SteppingAsideTests {
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
    loop.beforeSleep = { if trace.last == "what it put off" { trace.append("flush") } }
    #expect(!loop.isAnyoneReady())
    loop.afterOthers {
      trace.append("one")
      loop.afterOthers { trace.append("again") }
    }
    Descriptors.write(pair.1, "x")
    #expect(loop.isAnyoneReady())
    // It does not sleep as long as somebody has stepped aside.
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

  @Test func whoSteppedAsideCountsAsWaitingAndIsWrittenForBeforeTheNext() throws {
    let loop = try EventLoop()
    let pair = try Descriptors.pair()
    defer { Descriptors.close(pair) }
    let source = try loop.addIO(pair.0, .readable) { _ in }
    var trace: [String] = []
    loop.beforeSleep = { if trace.last != "flush" { trace.append("flush") } }
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
    loop.beforeSleep = { loop.noteRecipient(recipient) }
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
    // Nobody knows yet whom the other one is for.
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
    loop.beforeSleep = { if let recipient { loop.noteRecipient(recipient) } }
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
}
