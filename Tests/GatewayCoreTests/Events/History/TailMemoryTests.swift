import Testing

@testable import GatewayCore

/// In whose memory the next event is written.
@Suite struct TailMemoryTests {
  private static let now = MonotonicInstant(nanoseconds: 0)

  private func history(_ change: (inout HistorySettings) -> Void) -> EventHistory {
    var settings = HistorySettings()
    change(&settings)
    return EventHistory(settings, epoch: "e")
  }

  /// Appends an event of a hundred bytes. Returns how much memory it has.
  @discardableResult
  private func add(_ letter: Character, room: Int = 128, to history: inout EventHistory) -> Int {
    var tail = history.takeTail(room: room)
    #expect(tail.isEmpty && tail.capacity >= room)
    tail.append(contentsOf: String(repeating: letter, count: 100).utf8)
    history.append(.event(tail), at: Self.now)
    return tail.capacity
  }

  private func texts(_ history: EventHistory) -> [String] {
    (history.oldestPlace..<history.nextPlace).map { place in
      guard case .event(let tail) = history.content(at: place) else { return "" }
      return String(decoding: tail.prefix(1), as: UTF8.self)
    }
  }

  @Test func aFullHistoryHasTheNextEventInTheMemoryOfItsOldest() {
    var history = history { $0.events = 2 }
    let first = add("a", room: 400, to: &history)
    let second = add("b", room: 300, to: &history)
    #expect(first > second)
    // Memory made for them would be less.
    #expect(add("c", to: &history) == first && add("d", to: &history) == second && add("e", to: &history) == first)
    #expect(texts(history) == ["d", "e"])
    #expect(history.oldestPlace == 3 && history.byteCount == 200)
  }

  @Test func whatWentForItsBytesIsUsedByTheNextEvent() {
    var history = history { $0.bytes = 150 }
    let first = add("a", room: 400, to: &history)
    let second = add("b", room: 300, to: &history)
    #expect(history.count == 1 && first > second)
    #expect(add("c", to: &history) == first && add("d", to: &history) == second)
    #expect(texts(history) == ["d"])
  }

  @Test func whatALongEventDrivesOutGoesBeforeItHasItsMemory() {
    var history = history { $0.bytes = 1_000_000 }
    add("a", room: 100_000, to: &history)
    for letter in "bcde" {
      var tail = history.takeTail(room: 250_000)
      tail.append(contentsOf: String(repeating: letter, count: 249_900).utf8)
      history.append(.event(tail), at: Self.now)
    }
    #expect(texts(history) == ["a", "b", "c", "d", "e"] && history.byteCount == 999_700)
    let tail = history.takeTail(room: 400_000)
    #expect(tail.capacity >= 400_000 && texts(history) == ["d", "e"])
  }

  @Test func allGoesBeforeAnEventThatIsLongerThanTheHistory() {
    var history = history { $0.bytes = 1_000_000 }
    add("a", to: &history)
    #expect(history.takeTail(room: 1_000_001).isEmpty && history.count == 0 && history.oldestPlace == 1)
  }

  @Test func anEventThatIsStillReadIsNotWrittenOver() {
    var history = history { $0.events = 1 }
    add("a", to: &history)
    let read = history.content(at: 0)
    add("b", to: &history)
    #expect(read == .event([UInt8](repeating: UInt8(ascii: "a"), count: 100)))
    #expect(texts(history) == ["b"])
  }

  @Test func memoryOfAnotherSizeIsNotUsed() {
    for room in [8, 4_096] {
      var history = history { $0.events = 1 }
      add("a", to: &history)
      let tail = history.takeTail(room: room)
      #expect(tail.isEmpty && tail.capacity >= room && tail.capacity < 2 * room + 64)
    }
  }

  @Test func anEventThatCouldNotBeShownHasNoMemory() {
    var history = history { $0.events = 1 }
    history.append(.hole(.tooLarge, name: "n"), at: Self.now)
    add("a", to: &history)
    history.append(.hole(.tooLarge, name: "n"), at: Self.now)
    #expect(history.count == 1 && history.byteCount == 1)
  }
}
