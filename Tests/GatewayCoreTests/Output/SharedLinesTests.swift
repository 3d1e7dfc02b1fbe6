import Testing
@testable import GatewayCore

/// Lines of one turn that many outputs point to.
@Suite final class SharedLinesTests {
  private let outputs = ClientOutputs()
  private var added: [ClientOutputs.Pointer] = []

  deinit { added.forEach(outputs.remove) }

  private func add(tag: Int = 0) -> ClientOutputs.Pointer {
    let pointer = outputs.add(tag: tag)
    added.append(pointer)
    return pointer
  }

  private func remove(_ pointer: ClientOutputs.Pointer) {
    added.removeAll { $0 == pointer }
    outputs.remove(pointer)
  }

  /// Appends a line to several outputs. Returns whether there was room for it.
  @discardableResult
  private func fanOut(_ head: [UInt8], _ tail: [UInt8], to receivers: [ClientOutputs.Pointer]) -> Bool {
    head.withUnsafeBytes { head in
      tail.withUnsafeBytes { tail in
        guard let line = outputs.assemble(head, tail) else { return false }
        for output in receivers { outputs.append(line, to: output) }
        return true
      }
    }
  }

  @discardableResult
  private func fanOut(_ text: String, to receivers: ClientOutputs.Pointer...) -> Bool {
    fanOut(Array(text.utf8.prefix(1)), Array(text.utf8.dropFirst()), to: receivers)
  }

  private func append(_ text: String, to output: ClientOutputs.Pointer) {
    Array(text.utf8).withUnsafeBytes { outputs.append($0, to: output) }
  }

  private func pending(_ output: ClientOutputs.Pointer) -> String {
    String(decoding: output.pointee.pending, as: UTF8.self)
  }

  private func place(_ output: ClientOutputs.Pointer) -> UnsafeRawPointer? { output.pointee.pending.baseAddress }

  @Test func outputsPointToTheSameLines() {
    let (first, second, third) = (add(), add(), add())
    fanOut("one ", to: first, second)
    fanOut("two ", to: first, second, third)
    #expect((pending(first), pending(second), pending(third)) == ("one two ", "one two ", "two "))
    #expect(place(first) == place(second))
    #expect(place(third) == place(first).map { $0 + 4 })
  }

  @Test func whoMissedALineBetweenHasTheOthersCopied() {
    let (all, some) = (add(), add())
    fanOut("one ", to: all, some)
    fanOut("two ", to: all)
    fanOut("three", to: all, some)
    #expect((pending(all), pending(some)) == ("one two three", "one three"))
  }

  @Test func whatIsOnesOwnStandsWhereItWasAppended() {
    let output = add()
    fanOut("a line, ", to: output)
    append("a reply, ", to: output)
    fanOut("a line", to: output)
    #expect(pending(output) == "a line, a reply, a line")
    #expect(output.pointee.count == 23)
  }

  @Test func whatWasNotTakenOutlivesTheTurn() {
    let (stuck, slow, fast) = (add(), add(), add())
    fanOut("first turn", to: stuck, slow, fast)
    outputs.drain { output in
      if output == slow { outputs.consume(6, of: output) }
      if output == fast { outputs.consume(10, of: output) }
    }
    fanOut("OTHER TURN", to: fast)
    #expect((pending(stuck), pending(slow), pending(fast)) == ("first turn", "turn", "OTHER TURN"))
  }

  @Test func linesThatCameWhileDrainingWaitForTheNextDrain() {
    let (first, second) = (add(), add())
    fanOut("one", to: first)
    outputs.drain { output in
      outputs.consume(3, of: output)
      fanOut("two", to: first, second)
    }
    fanOut("three", to: first, second)
    #expect((pending(first), pending(second)) == ("twothree", "twothree"))
  }

  @Test func linesStayAsLongAsAnOutputWaitsForItsPortion() {
    let all = [add(), add(), add()]
    fanOut("one", to: all[0], all[1], all[2])
    var written: [ClientOutputs.Pointer] = []
    outputs.drain(atMost: 1) { output in
      outputs.consume(3, of: output)
      written.append(output)
    }
    fanOut("two", to: all[0], all[1], all[2])
    for output in all { #expect(pending(output) == (written.contains(output) ? "two" : "onetwo")) }
  }

  @Test func anOutputMayBeRemovedWhileItIsDrained() {
    let (gone, other) = (add(tag: 1), add(tag: 2))
    fanOut("line", to: gone, other)
    outputs.drain { if $0 == gone { remove(gone) } }
    #expect(pending(other) == "line")
  }

  @Test func linesBeyondTheRoomOfATurnAreNotShared() {
    let output = add()
    let line = [UInt8](repeating: 1, count: SharedLines.limit / 2)
    #expect(fanOut([0], Array(line.dropFirst()), to: [output]))
    #expect(!fanOut([0], line, to: [output]))
    #expect(fanOut([0], Array(line.dropFirst()), to: [output]))
    #expect(!fanOut("x", to: output))
    #expect(output.pointee.count == SharedLines.limit)
    outputs.drain { outputs.consume($0.pointee.count, of: $0) }
    #expect(fanOut("x", to: output))
    #expect(!fanOut([0], [UInt8](repeating: 1, count: SharedLines.limit), to: [output]))
  }

  @Test func memoryOfSharedLinesThatNobodyNeedsIsFreed() {
    var announced = 0
    outputs.onSpare = { announced += 1 }
    let output = add()
    for _ in 0..<2 {
      fanOut("line", to: output)
      outputs.drain { outputs.consume(4, of: $0) }
    }
    #expect(announced == 1)
    #expect(outputs.releaseIdle())
    fanOut("line", to: output)
    #expect(outputs.releaseIdle(), "an output points to it")
    outputs.drain { outputs.consume(4, of: $0) }
    #expect(announced == 2)
    #expect(outputs.releaseIdle())
    #expect(!outputs.releaseIdle())
    fanOut("again", to: output)
    #expect(pending(output) == "again")
  }

  @Test func eachOutputGetsItsOwnBytesInOrderWhateverTheOthersDo() {
    let random = FakeRandom(seed: 11)
    let receivers = (0..<4).map { add(tag: $0) }
    var models = [[UInt8]](repeating: [], count: receivers.count)
    func take(_ index: Int, _ count: Int) {
      let taken = min(count, receivers[index].pointee.pending.count)
      #expect(receivers[index].pointee.begins(with: models[index], for: taken))
      outputs.consume(taken, of: receivers[index])
      models[index].removeFirst(taken)
    }
    for step in 0..<4_000 {
      let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: step), count: 2 + Int(random.bits() % 900))
      let chosen = receivers.indices.filter { _ in random.bits() % 4 != 0 }
      switch random.bits() % 8 {
      case 0, 1, 2, 3:
        guard fanOut(Array(bytes.prefix(1)), Array(bytes.dropFirst()), to: chosen.map { receivers[$0] }) else { break }
        for index in chosen { models[index] += bytes }
      case 4:
        let index = Int(random.bits() % 4)
        bytes.withUnsafeBytes { outputs.append($0, to: receivers[index]) }
        models[index] += bytes
      case 5:
        let text = [UInt8](repeating: UInt8(truncatingIfNeeded: step), count: ClientOutput.sharedFrom)
        let index = Int(random.bits() % 4)
        bytes.withUnsafeBytes { outputs.append($0, text: text, to: receivers[index]) }
        models[index] += bytes + text
      case 6: take(Int(random.bits() % 4), Int(random.bits() % 2_000))
      default: outputs.drain { take($0.pointee.tag, Int(random.bits() % 100_000)) }
      }
      for index in receivers.indices { #expect(receivers[index].pointee.count == models[index].count) }
    }
  }
}

@Suite struct EventHeadsTests {
  private let heads = EventHeads()

  @Test func equalIdsShareOneHeadUntilTheLastIsGivenBack() {
    let (first, second) = (heads.take("s1"), heads.take("s1"))
    #expect(first.baseAddress == second.baseAddress)
    #expect(Array(first) == LocalNotification.eventHead(subscription: "s1"))
    heads.giveBack(first)
    #expect(heads.count == 1)
    #expect(Array(second) == LocalNotification.eventHead(subscription: "s1"))
    heads.giveBack(second)
    #expect(heads.count == 0)
  }

  @Test func idsThatOnlyLookAlikeHaveHeadsOfTheirOwn() {
    let (composed, decomposed) = (heads.take("\u{e9}"), heads.take("e\u{301}"))
    #expect(composed.baseAddress != decomposed.baseAddress)
    #expect(Array(composed) != Array(decomposed))
    heads.giveBack(composed)
    heads.giveBack(decomposed)
    #expect(heads.count == 0)
  }
}
