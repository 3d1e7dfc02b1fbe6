@testable import GatewayCore
import Testing

@Suite struct CommandQueueTests {
  static func command(
    _ id: String, bytes: Int = 10, expires: Int64? = nil, owner: CommandOwner = .none, acceptedAt: Int64 = 0
  ) -> Command {
    Command(
      id: id, message: PreparedMessage(event: "", body: [UInt8](repeating: 0, count: bytes)), delivery: .accepted,
      expires: expires.map { MonotonicInstant(nanoseconds: $0) }, acceptedAt: acceptedAt, owner: owner)
  }

  static func queue(_ commands: [Command] = [], count: Int = 100_000, bytes: Int = .max) throws -> CommandQueue {
    var queue = CommandQueue(countLimit: count, byteLimit: bytes)
    for command in commands { try queue.append(command) }
    return queue
  }

  /// Takes out the command of that id.
  @discardableResult
  static func remove(_ id: String, from queue: inout CommandQueue) -> Command? {
    queue.commands.first { $0.id == id }.flatMap { queue.remove($0) }
  }

  static func at(_ nanoseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds) }

  @Test func commandsLeaveInTheOrderInWhichTheyCame() throws {
    let sent = (0..<1_000).map { Self.command("c\($0)") }
    var queue = try Self.queue(sent)
    var left: [Command] = []
    while let command = queue.popFirst() { left.append(command) }
    #expect(left == sent)
    #expect((queue.count, queue.byteCount, queue.oldest) == (0, 0, nil))
  }

  @Test func theCountLimitRefusesOneMoreAndKeepsTheRest() throws {
    var queue = try Self.queue([Self.command("a"), Self.command("b")], count: 2)
    #expect(throws: SubmissionProblem.queueFull(.share(2), unit: "sends")) { try queue.append(Self.command("c")) }
    #expect(queue.commands.map(\.id) == ["a", "b"])
    _ = queue.popFirst()
    try queue.append(Self.command("c"))
    #expect(queue.commands.map(\.id) == ["b", "c"])
  }

  @Test func theByteLimitCountsMessageAndOverhead() throws {
    let limit = 2 * (CommandQueue.overhead + 10)
    var queue = try Self.queue([Self.command("a", bytes: 10)], bytes: limit)
    let full = SubmissionProblem.queueFull(.share(limit), unit: "bytes")
    #expect(throws: full) { try queue.append(Self.command("b", bytes: 11)) }
    try queue.append(Self.command("b", bytes: 10))
    #expect(queue.byteCount == limit)
    #expect(throws: full) { try queue.append(Self.command("c", bytes: 0)) }
    _ = Self.remove("a", from: &queue)
    #expect(queue.byteCount == limit / 2)
  }

  @Test func attachmentsCountAsBytes() throws {
    let command = Self.command("a", bytes: 10)
    command.message.attachments = [[1, 2, 3], [4]]
    #expect(try Self.queue([command]).byteCount == CommandQueue.overhead + 14)
  }

  @Test func aCommandTakenBackIsNeverSent() throws {
    var queue = try Self.queue(["a", "b", "c"].map { Self.command($0) })
    let taken = try #require(queue.commands.first { $0.id == "b" })
    #expect(queue.remove(taken) == taken)
    #expect(queue.remove(taken) == nil)
    #expect(queue.remove(Self.command("x")) == nil)
    #expect([queue.popFirst()?.id, queue.popFirst()?.id, queue.popFirst()?.id] == ["a", "c", nil])
  }

  @Test func takingTheFirstBackMovesTheOldestOn() throws {
    var queue = try Self.queue([Self.command("a", acceptedAt: 5), Self.command("b", acceptedAt: 9)])
    #expect(queue.oldest == 5)
    _ = Self.remove("a", from: &queue)
    #expect((queue.oldest, queue.first?.id) == (9, "b"))
  }

  @Test func tenThousandDifferentDeadlinesExpireInTheirOrder() throws {
    let random = FakeRandom(seed: 3)
    let deadlines = (0..<10_000).map { _ in Int64(random.bits() % 1_000_000) + 1 }
    var queue = try Self.queue(deadlines.enumerated().map { Self.command("c\($0)", expires: $1) })
    #expect(queue.nextExpiry == deadlines.min().map(Self.at))
    let early = queue.expire(now: Self.at(500_000)).compactMap(\.expires?.nanoseconds)
    #expect(early == deadlines.filter { $0 <= 500_000 }.sorted())
    #expect(queue.count == deadlines.count { $0 > 500_000 })
    #expect(queue.nextExpiry == deadlines.filter { $0 > 500_000 }.min().map(Self.at))
    #expect(queue.commands.compactMap(\.expires?.nanoseconds) == deadlines.filter { $0 > 500_000 })
    _ = queue.expire(now: Self.at(.max))
    #expect((queue.count, queue.byteCount, queue.nextExpiry) == (0, 0, nil))
  }

  @Test func ofThousandsThatExpireTogetherSomeWaitForTheNextTurn() throws {
    var queue = try Self.queue((0..<2_500).map { Self.command("c\($0)", expires: 1) })
    #expect(queue.expire(now: Self.at(1), limit: 1_000).count == 1_000)
    #expect((queue.count, queue.nextExpiry) == (1_500, Self.at(1)))
  }

  @Test func aCommandExpiresAtItsDeadlineAndNotBefore() throws {
    var queue = try Self.queue([Self.command("a", expires: 100), Self.command("b")])
    #expect(queue.expire(now: Self.at(99)).isEmpty)
    #expect(queue.expire(now: Self.at(100)).map(\.id) == ["a"])
    #expect(queue.expire(now: Self.at(.max)).isEmpty)
    #expect(queue.commands.map(\.id) == ["b"])
  }

  @Test func whatLeftOtherwiseNeitherExpiresNorWakesTheLoop() throws {
    var queue = try Self.queue([
      Self.command("a", expires: 1), Self.command("b", expires: 2), Self.command("c", expires: 3),
    ])
    _ = queue.popFirst()
    #expect(queue.nextExpiry == Self.at(2))
    _ = Self.remove("b", from: &queue)
    #expect(queue.nextExpiry == Self.at(3))
    #expect(queue.expire(now: Self.at(9)).map(\.id) == ["c"])
  }

  @Test func aClientThatLeavesTakesOnlyItsUnansweredCommandsBack() throws {
    var queue = try Self.queue([
      Self.command("a", owner: .call(client: 1, request: 1)), Self.command("b"),
      Self.command("c", owner: .call(client: 2, request: 1)), Self.command("d", owner: .call(client: 1, request: 2)),
    ])
    #expect(queue.removeAll(client: 1).map(\.id) == ["a", "d"])
    #expect(queue.removeAll(client: 1).isEmpty)
    #expect(queue.removeAll(client: 7).isEmpty)
    #expect(queue.commands.map(\.id) == ["b", "c"])
  }

  @Test func emptyingHandsOutEverythingInOrder() throws {
    var queue = try Self.queue((0..<500).map { Self.command("c\($0)", expires: 5) })
    _ = queue.popFirst()
    _ = Self.remove("c7", from: &queue)
    let all = queue.removeAll().map(\.id)
    #expect(all == (1..<500).filter { $0 != 7 }.map { "c\($0)" })
    #expect((queue.count, queue.byteCount, queue.nextExpiry) == (0, 0, nil))
    try queue.append(Self.command("new"))
    #expect(queue.popFirst()?.id == "new")
  }

  /// The queue against the simplest thing that could be one: an array.
  @Test(arguments: 1...4)
  func aRandomLifeMatchesAPlainArray(seed: UInt64) throws {
    let random = FakeRandom(seed: seed)
    func pick(_ bound: Int) -> Int { Int(random.bits() % UInt64(bound)) }
    var queue = CommandQueue(countLimit: 700, byteLimit: 250_000)
    var model: [Command] = []
    var all: [Command] = []
    var made = 0
    var now: Int64 = 0
    for step in 0..<4_000 {
      now += Int64(pick(3))
      // Growing and shrinking in turns, so that every kind of clearing up happens.
      switch pick((step / 1_000) % 2 == 0 ? 8 : 40) {
      case 0...5:
        made += 1
        let command = Self.command(
          "c\(made)", bytes: pick(300), expires: pick(4) == 0 ? nil : now + Int64(pick(2_000)),
          owner: pick(2) == 0 ? .none : .call(client: UInt64(pick(5)), request: UInt64(made)))
        all.append(command)
        let cost = model.reduce(CommandQueue.cost(of: command)) { $0 + CommandQueue.cost(of: $1) }
        if model.count < 700, cost <= 250_000 {
          try queue.append(command)
          model.append(command)
        } else {
          #expect(throws: SubmissionProblem.self) { try queue.append(command) }
        }
      case 6:
        guard let command = all.isEmpty ? nil : all[pick(all.count)] else { break }
        let index = model.firstIndex(of: command)
        #expect(queue.remove(command) == index.map { model.remove(at: $0) })
      case 7:
        let expired = queue.expire(now: Self.at(now)).map(\.id)
        let gone = model.filter { ($0.expires ?? Self.at(.max)) <= Self.at(now) }
        #expect(Set(expired) == Set(gone.map(\.id)))
        model.removeAll { Set(expired).contains($0.id) }
      case 8 where pick(20) == 0:
        let client = UInt64(pick(5))
        #expect(queue.removeAll(client: client) == model.filter { $0.owner.client == client })
        model.removeAll { $0.owner.client == client }
      default:
        #expect(queue.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
      }
      #expect(queue.count == model.count)
      #expect(queue.first == model.first)
      if step % 20 == 0 {
        #expect(queue.nextExpiry == model.compactMap(\.expires).min())
        #expect(queue.commands == model)
        #expect(queue.byteCount == model.reduce(0) { $0 + CommandQueue.cost(of: $1) })
      }
    }
  }
}
