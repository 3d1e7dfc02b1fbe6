import Testing

@testable import GatewayCore

@Suite final class ClientOutputTests {
  let outputs = ClientOutputs()
  private var added: [ClientOutputs.Pointer] = []

  deinit { added.forEach(outputs.remove) }

  func add(tag: Int = 0) -> ClientOutputs.Pointer {
    let pointer = outputs.add(tag: tag)
    added.append(pointer)
    return pointer
  }

  func remove(_ pointer: ClientOutputs.Pointer) {
    added.removeAll { $0 == pointer }
    outputs.remove(pointer)
  }

  func append(_ bytes: [UInt8], to pointer: ClientOutputs.Pointer) {
    bytes.withUnsafeBytes { outputs.append($0, to: pointer) }
  }

  func append(_ text: String, to pointer: ClientOutputs.Pointer) { append(Array(text.utf8), to: pointer) }

  func pending(_ pointer: ClientOutputs.Pointer) -> String { String(decoding: pointer.pointee.pending, as: UTF8.self) }

  /// The tags that a drain hands out.
  func drained() -> [Int] {
    var tags: [Int] = []
    outputs.drain { tags.append($0.pointee.tag) }
    return tags
  }

  @Test(arguments: [0, 3, 40_000, 65_549]) func everythingThatIsPendingCanBeCopied(_ taken: Int) {
    let output = add()
    let long = [UInt8](repeating: UInt8(ascii: "x"), count: ClientOutput.sharedFrom)
    append("before", to: output)
    "head".utf8CString.withUnsafeBytes { head in
      outputs.append(UnsafeRawBufferPointer(rebasing: head.dropLast()), text: long, to: output)
    }
    append("after", to: output)
    let whole = Array("beforehead".utf8) + long + Array("after".utf8)
    var left = taken
    while left > 0 {
      let count = min(left, output.pointee.pending.count)
      outputs.consume(count, of: output)
      left -= count
    }
    #expect(output.pointee.bytes == Array(whole.dropFirst(taken)))
    outputs.consume(output.pointee.pending.count, of: output)
    while output.pointee.count > 0 { outputs.consume(output.pointee.pending.count, of: output) }
    #expect(output.pointee.bytes.isEmpty)
  }

  @Test func bytesStayInOrderUntilTheyAreTaken() {
    let output = add()
    #expect((output.pointee.count, pending(output)) == (0, ""))
    append("hello ", to: output)
    append("world", to: output)
    #expect(pending(output) == "hello world")
    outputs.consume(6, of: output)
    #expect((output.pointee.count, pending(output)) == (5, "world"))
    append("!", to: output)
    #expect(pending(output) == "world!")
    outputs.consume(6, of: output)
    #expect((output.pointee.count, pending(output)) == (0, ""))
    append("", to: output)
    #expect(output.pointee.count == 0)
  }

  @Test func roomAtTheFrontIsUsedAgainWithoutMixingBytes() {
    let output = add()
    append([UInt8](repeating: 1, count: 500), to: output)
    outputs.consume(490, of: output)
    append([UInt8](repeating: 2, count: 480), to: output)
    append([UInt8](repeating: 3, count: 2_000), to: output)
    let expected =
      [UInt8](repeating: 1, count: 10) + [UInt8](repeating: 2, count: 480) + [UInt8](repeating: 3, count: 2_000)
    #expect(Array(output.pointee.pending) == expected)
  }

  @Test func randomWritesAndPartialReadsComeOutAsTheyWentIn() {
    let output = add()
    let random = FakeRandom(seed: 2)
    var model: [UInt8] = []
    var next: UInt8 = 0
    for _ in 0..<2_000 {
      let size = Int(random.bits() % 700)
      if random.bits() % 2 == 0 {
        let bytes = (0..<size).map { _ in
          next &+= 1
          return next
        }
        append(bytes, to: output)
        model += bytes
      } else {
        let taken = min(size, model.count)
        #expect(output.pointee.begins(with: model, for: taken))
        outputs.consume(taken, of: output)
        model.removeFirst(taken)
      }
      #expect(output.pointee.count == model.count)
    }
    #expect(Array(output.pointee.pending) == model)
  }

  /// All that is pending, piece by piece.
  func takeAll(_ output: ClientOutputs.Pointer) -> [UInt8] {
    var taken: [UInt8] = []
    while output.pointee.count > 0 {
      taken += output.pointee.pending
      outputs.consume(output.pointee.pending.count, of: output)
    }
    return taken
  }

  func share(_ head: String, _ text: [UInt8], to output: ClientOutputs.Pointer) {
    Array(head.utf8).withUnsafeBytes { outputs.append($0, text: text, to: output) }
  }

  @Test func longTextsTakeNoFurtherBufferOnceThereIsOne() {
    let output = add()
    let text = [UInt8](repeating: 5, count: ClientOutput.sharedFrom)
    var spare: [Int] = []
    for _ in 0..<3 {
      share("head", text, to: output)
      while output.pointee.count > 0 { outputs.consume(output.pointee.pending.count, of: output) }
      spare.append(outputs.spareBytes)
    }
    #expect(spare[0] > 0)
    #expect(spare == [spare[0], spare[0], spare[0]])
  }

  @Test func aLongTextStaysInItsPlaceWithoutBeingCopied() {
    let output = add()
    let text = [UInt8](repeating: 5, count: ClientOutput.sharedFrom)
    append("before", to: output)
    share("head", text, to: output)
    append("behind", to: output)
    #expect(output.pointee.count == 6 + 4 + text.count + 6)
    #expect(pending(output) == "beforehead")
    outputs.consume(10, of: output)
    let place = text.withUnsafeBytes { $0.baseAddress }
    #expect(output.pointee.pending.baseAddress == place)
    outputs.consume(1_000, of: output)
    #expect(output.pointee.pending.count == text.count - 1_000)
    append(", and more", to: output)
    #expect(takeAll(output) == text.dropFirst(1_000) + Array("behind, and more".utf8))
    #expect(!output.pointee.holdsShared)
  }

  @Test func aSecondLongTextIsCopiedWhileTheFirstIsThere() {
    let output = add()
    let (first, second) = ([UInt8](repeating: 1, count: 70_000), [UInt8](repeating: 2, count: 80_000))
    share("a", first, to: output)
    share("b", second, to: output)
    #expect(takeAll(output) == Array("a".utf8) + first + Array("b".utf8) + second)
  }

  @Test func aSecondLongAnswerIsNotLostWhileTheFirstIsThere() {
    let output = add()
    defer { remove(output) }
    let lines = ["a", "b", "c"].map { Array(String(repeating: $0, count: ClientOutput.directLimit).utf8) }
    for line in lines { outputs.append(line, to: output) }
    #expect(takeAll(output) == lines.flatMap { $0 })
  }

  @Test func anAnswerThatLeavesDirectRoomTakesNoneAwayFromEvents() {
    let output = add()
    defer { remove(output) }
    outputs.append([UInt8](repeating: 5, count: ClientOutput.directLimit - 1), to: output)
    #expect(!output.pointee.holdsShared)
  }

  @Test func aLineOfWhichNothingWasWrittenIsNoneThatHasBegun() {
    let output = add()
    defer { remove(output) }
    append("first\n", to: output)
    outputs.consume(3, of: output)
    #expect(output.pointee.isWithinLine)
    outputs.consume(3, of: output)
    append("second\n", to: output)
    #expect(!output.pointee.isWithinLine)
  }

  @Test func longAndShortTextsComeOutInOrderHoweverTheyAreTaken() {
    let output = add()
    let random = FakeRandom(seed: 7)
    var model: [UInt8] = []
    for step in 0..<3_000 {
      let byte = UInt8(truncatingIfNeeded: step)
      switch random.bits() % 4 {
      case 0:
        let text = [UInt8](repeating: byte, count: ClientOutput.sharedFrom + Int(random.bits() % 3_000))
        share("head", text, to: output)
        model += Array("head".utf8) + text
      case 1:
        let bytes = [UInt8](repeating: byte, count: Int(random.bits() % 700))
        append(bytes, to: output)
        model += bytes
      default:
        let taken = min(Int(random.bits() % 90_000), output.pointee.pending.count)
        #expect(output.pointee.begins(with: model, for: taken))
        outputs.consume(taken, of: output)
        model.removeFirst(taken)
      }
      #expect(output.pointee.count == model.count)
    }
    #expect(takeAll(output) == model)
  }

  @Test func aBufferThatGrewLargeStartsAfreshAfterItWasEmptied() {
    let output = add()
    append([UInt8](repeating: 7, count: 100_000), to: output)
    outputs.consume(100_000, of: output)
    append("again", to: output)
    #expect(pending(output) == "again")
  }

  @Test func anOutputIsHandedOutOncePerDrain() {
    let first = add(tag: 1)
    let second = add(tag: 2)
    #expect(!outputs.hasDirty)
    append("a", to: first)
    append("b", to: first)
    append("c", to: second)
    outputs.markDirty(second)
    #expect(outputs.hasDirty)
    #expect(drained().sorted() == [1, 2])
    #expect(!outputs.hasDirty)
    #expect(drained() == [])
  }

  @Test func theFirstDirtyOutputIsAnnouncedOnce() {
    var announced = 0
    outputs.onDirty = { announced += 1 }
    append("a", to: add())
    append("b", to: add())
    #expect(announced == 1)
    _ = drained()
    outputs.markDirty(add())
    #expect(announced == 2)
  }

  @Test func whatBecomesDirtyDuringADrainWaitsForTheNext() {
    let output = add(tag: 1)
    let other = add(tag: 2)
    append("a", to: output)
    var turns = 0
    outputs.drain { _ in
      turns += 1
      append("b", to: output)
      append("c", to: other)
    }
    #expect(turns == 1)
    #expect(drained().sorted() == [1, 2])
  }

  @Test func manyOutputsAreHandedOutInPortionsEachOnce() {
    for tag in 0..<10 { append("x", to: add(tag: tag)) }
    var seen: [Int] = []
    for left in [6, 2, 0] {
      outputs.drain(atMost: 4) { output in
        seen.append(output.pointee.tag)
        outputs.consume(1, of: output)
      }
      #expect(outputs.dirtyCount == left)
    }
    #expect(seen.sorted() == Array(0..<10) && !outputs.hasDirty)
  }

  @Test func whatBecomesDirtyBetweenPortionsIsHalfOfTheNextAtMost() {
    let all = (0..<6).map { add(tag: $0) }
    for output in all[..<4] { append("x", to: output) }
    var portions: [[Int]] = []
    func drain() {
      portions.append([])
      outputs.drain(atMost: 2) { portions[portions.count - 1].append($0.pointee.tag) }
    }
    drain()
    for output in [all[4], all[5], all[portions[0][0]]] { append("y", to: output) }
    while outputs.hasDirty { drain() }
    #expect(portions == [[3, 2], [4, 1], [5, 0], [3]])
  }

  @Test func aDirtyOutputThatIsRemovedIsNeverFlushed() {
    let gone = add(tag: 1)
    append("a", to: gone)
    append("b", to: add(tag: 2))
    remove(gone)
    #expect(drained() == [2])
  }

  @Test func outputsMayBeRemovedWhileDraining() {
    let all = (0..<5).map { add(tag: $0) }
    for output in all { append("x", to: output) }
    var seen: [Int] = []
    var skipped: Int?
    outputs.drain { output in
      seen.append(output.pointee.tag)
      guard seen.count == 2 else { return }
      // One flushed before, the one being flushed, and one still to come.
      let coming = (0..<5).first { !seen.contains($0) }
      skipped = coming
      for tag in seen + [coming].compactMap({ $0 }) { remove(all[tag]) }
    }
    #expect(seen.sorted() == (0..<5).filter { $0 != skipped })
    #expect(drained() == [])
  }
}

/// Empty buffers go from client to client, and away when none is needed.
@Suite struct SpareBufferTests {
  private func write(_ count: Int, _ outputs: ClientOutputs, _ output: ClientOutputs.Pointer) {
    [UInt8](repeating: 1, count: count).withUnsafeBytes { outputs.append($0, to: output) }
  }

  @Test func anEmptiedBufferServesTheNextClient() {
    let outputs = ClientOutputs()
    var spares = 0
    outputs.onSpare = { spares += 1 }
    let (first, second) = (outputs.add(tag: 1), outputs.add(tag: 2))
    write(100, outputs, first)
    let place = first.pointee.pending.baseAddress
    outputs.consume(100, of: first)
    #expect(spares == 1)
    write(50, outputs, second)
    #expect(second.pointee.pending.baseAddress == place)
    outputs.consume(50, of: second)
    #expect(spares == 2)
    outputs.remove(first)
    outputs.remove(second)
  }

  @Test func sparesThatNobodyNeededAreFreed() {
    let outputs = ClientOutputs()
    let output = outputs.add(tag: 1)
    write(100, outputs, output)
    outputs.consume(100, of: output)
    write(100, outputs, output)
    outputs.consume(100, of: output)
    #expect(outputs.releaseIdle())
    #expect(!outputs.releaseIdle())
    write(7, outputs, output)
    #expect(output.pointee.count == 7)
    outputs.remove(output)
  }

  @Test func aPartlyTakenBufferStaysWithItsClient() {
    let outputs = ClientOutputs()
    let output = outputs.add(tag: 1)
    write(100, outputs, output)
    outputs.consume(40, of: output)
    #expect(!outputs.releaseIdle())
    #expect(output.pointee.count == 60)
    outputs.remove(output)
  }
}
