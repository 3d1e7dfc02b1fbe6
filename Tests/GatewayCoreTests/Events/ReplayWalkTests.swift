import Testing

@testable import GatewayCore

/// A walk in portions, between which events come, go and change their epoch.
@Suite struct ReplayWalkTests {
  private struct Event { let epoch: String, sequence: UInt64, isWanted: Bool }

  /// A stream of at most 300 events, and all that it was ever given.
  private final class Scene {
    let harness: GatewayHarness
    private(set) var all: [Event] = []
    private var random: UInt64

    init(_ seed: Int) {
      harness = GatewayHarness { configuration in
        var settings = UpstreamSettings()
        settings.keep = .always
        settings.history.events = 300
        configuration.upstreams["chat"] = ConfiguredUpstream(
          url: UpstreamURL(scheme: "http", host: "chat.example"), settings: settings)
      }
      harness.upstream.channel.accept()
      random = UInt64(seed) &* 0x9e37_79b9_7f4a_7c15 | 1
    }

    var stream: EventStream { harness.gateway.upstreams.pool.all[0].stream }
    var wanted: [Event] { all.filter(\.isWanted) }

    func number(below limit: Int) -> Int {
      random ^= random << 13
      random ^= random >> 7
      random ^= random << 17
      return Int(random % UInt64(limit))
    }

    func goOn(_ steps: Int) {
      for _ in 0..<steps {
        if number(below: 60) == 0 { stream.beginEpoch() }
        let isWanted = number(below: 3) > 0
        harness.upstream.channel.emit(isWanted ? "w\(number(below: 20))" : "other")
        all.append(Event(epoch: stream.epoch, sequence: stream.sequence, isWanted: isWanted))
      }
    }
  }

  private static func filter() throws -> EventFilter { try EventFilter(["w*"]) }

  private static func numbers(_ items: [Backlog.Item]) -> [UInt64] {
    items.compactMap { if case .event(let number, _, _) = $0 { number } else { nil } }
  }

  @Test(arguments: 0..<60) func inPortionsItFindsWhatItFindsInOneGo(_ seed: Int) throws {
    let scene = Scene(seed)
    scene.goOn(scene.number(below: 700) + 1)
    let from = scene.all[scene.number(below: scene.all.count)]
    for resume in [
      ResumePoint.since(epoch: from.epoch, sequence: from.sequence), .last(scene.number(below: 400)),
      .since(epoch: "other", sequence: from.sequence), .since(epoch: scene.stream.epoch, sequence: 10_000),
    ] {
      var walk = ReplayWalk(resume, try Self.filter(), portion: 1 + scene.number(below: 800))
      while !walk.advance(in: scene.stream) {}
      let whole = scene.stream.replay(resume, try Self.filter())
      #expect(walk.replay.items.drained() == whole.items.drained())
      #expect(walk.replay.isComplete == whole.isComplete && walk.replay.eventCount == whole.eventCount)
      #expect(walk.replay.epoch == whole.epoch && walk.replay.byteCount == whole.byteCount)
    }
  }

  @Test(arguments: 0..<60) func whatComesAndGoesMeanwhileIsNeitherLostNorDoubled(_ seed: Int) throws {
    let scene = Scene(seed)
    scene.goOn(scene.number(below: 400) + 1)
    // Where the history still knows the epoch.
    let from = scene.all.suffix(250)[scene.all.suffix(250).startIndex + scene.number(below: min(250, scene.all.count))]
    var walk = ReplayWalk(
      .since(epoch: from.epoch, sequence: from.sequence), try Self.filter(), portion: 1 + scene.number(below: 800))
    while !walk.advance(in: scene.stream) { scene.goOn(scene.number(below: 30)) }
    let items = walk.replay.items.drained()
    var expired: UInt64 = 0
    var told: [UInt64] = []
    for item in items {
      switch item {
      case .event(let number, _, _): told.append(number)
      case .gap(let gap) where gap.reason == .expired:
        let range = try #require(gap.range)
        let missing = scene.wanted.map(\.sequence).filter(range.contains)
        #expect(gap.count == UInt64(missing.count))
        expired += gap.count ?? 0
        told += missing
      case .gap(let gap): #expect(gap.reason == .upstream)
      case .notice: Issue.record("a notice")
      }
    }
    #expect(told == scene.wanted.map(\.sequence).filter { $0 > from.sequence })
    #expect(walk.replay.eventCount + Int(expired) == told.count)
  }

  @Test(arguments: 0..<60) func theNewestAreTheNewestWhenItEnds(_ seed: Int) throws {
    let scene = Scene(seed)
    scene.goOn(scene.number(below: 400) + 1)
    let count = 1 + scene.number(below: 100)
    var walk = ReplayWalk(.last(count), try Self.filter(), portion: 1 + scene.number(below: 800))
    while !walk.advance(in: scene.stream) { scene.goOn(scene.number(below: 5)) }
    let newest = scene.wanted.suffix(count)
    let found = Self.numbers(walk.replay.items.drained())
    #expect(found == newest.suffix(found.count).map(\.sequence))
    #expect(found.count >= scene.stream.replay(.last(count), try Self.filter()).eventCount)
    if let first = newest.first, found.count == newest.count {
      #expect(walk.replay.epoch == first.epoch)
      #expect(walk.replay.isComplete == (first.epoch == scene.stream.epoch))
    }
  }
}
