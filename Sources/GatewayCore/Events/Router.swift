/// Which subscription gets which event of one connection. Two mirrored indexes: from an event's name to the
/// subscriptions that named it, and from a subscription to its filter; what was found for a name is remembered until a
/// subscription changes it.
struct Router {
  /// The subscriptions that get one event name, as the fan-out needs them. Never changed, so that an event only refers
  /// to it.
  final class Match {
    let feeds: ContiguousArray<SubscriptionFeed.Pointer>
    /// Whether one of them answers acknowledgements.
    let hasAnswerer: Bool
    /// The head that most of them share; nil where there are none.
    let commonHead: UnsafeRawBufferPointer?

    fileprivate init(_ feeds: ContiguousArray<SubscriptionFeed.Pointer> = []) {
      self.feeds = feeds
      hasAnswerer = feeds.contains { $0.pointee.answers }
      commonHead = Self.commonHead(feeds)
    }

    /// The clients of those that answer acknowledgements.
    var answerers: [ClientOutputs.Pointer] { feeds.filter(\.pointee.answers).map(\.pointee.output) }

    /// The head of most of them. Heads of equal ids are the same memory.
    private static func commonHead(_ feeds: ContiguousArray<SubscriptionFeed.Pointer>) -> UnsafeRawBufferPointer? {
      var counts: [UnsafeRawPointer: Int] = [:]
      for feed in feeds { if let head = feed.pointee.head.baseAddress { counts[head, default: 0] += 1 } }
      guard let most = counts.max(by: { $0.value < $1.value }) else { return nil }
      return feeds.first { $0.pointee.head.baseAddress == most.key }?.pointee.head
    }
  }

  /// Oldest first: at the places that are their serials. Neither this nor the indexes ever grow in one go, as there may
  /// be hundreds of thousands.
  private var ordered = TombstoneQueue<Subscription>()
  private var byName = IncrementalTable<ExactText, SortedSet<UInt64>>()
  /// Subscriptions with a pattern, or with none at all.
  private var byPattern = GlobIndex()
  /// Told of names that take long, and by the stream of what very many are told.
  let work: MatchingCost
  /// By the raw JSON text of the name.
  private var matches: [[UInt8]: Match] = [:]
  /// What was asked for last: mostly the next event has the same name. Empty: nothing, as no name's JSON text is empty.
  private var recentName: [UInt8] = []
  private var recentMatch: Match
  /// No subscription.
  let noMatch: Match

  /// More different names than this make the memory start afresh.
  private static let rememberedNames = 1_024
  /// A longer name, in bytes, is looked up each time.
  private static let rememberedLength = 256

  init(_ work: MatchingCost) {
    self.work = work
    noMatch = Match()
    recentMatch = noMatch
  }

  var count: Int { ordered.count }
  var all: [Subscription] { Array(ordered.all) }

  /// Those from a serial on, the oldest first.
  func all(from serial: UInt64) -> some Sequence<(place: UInt64, element: Subscription)> { ordered.all(from: serial) }

  /// Those that want this of the upstream, the oldest first. Looks at none that wants something else, however many
  /// there are.
  func subscriptions(wanting interest: Interest) -> [Subscription] {
    let holders =
      switch interest.pattern {
      case .all: byPattern.holders(of: "*")
      case .name(let name): byName[name]
      case .glob(let glob): byPattern.holders(of: glob.text)
      }
    let serials = SortedSet.union(holders.map { [$0] } ?? [])
    return serials.compactMap { ordered[$0] }.filter { $0.interests.contains(interest) }
  }

  /// Takes a subscription into both indexes.
  mutating func add(_ subscription: Subscription) {
    ordered.insert(subscription, at: subscription.serial)
    for name in subscription.filter.exactNames {
      let isKnown = byName.update(name) { $0.insert(subscription.serial) }
      if !isKnown { byName[name] = SortedSet(only: subscription.serial) }
    }
    for glob in subscription.filter.patterns { byPattern.insert(glob, for: subscription.serial) }
    forgetMatches()
  }

  /// Takes a subscription out of both indexes.
  mutating func remove(_ subscription: Subscription) {
    guard ordered.remove(at: subscription.serial) != nil else { return }
    for glob in subscription.filter.patterns { byPattern.remove(glob, for: subscription.serial) }
    for name in subscription.filter.exactNames {
      var isUnused = false
      _ = byName.update(name) {
        $0.remove(subscription.serial)
        isUnused = $0.isEmpty
      }
      if isUnused { byName[name] = nil }
    }
    forgetMatches()
  }

  /// What a subscription may have is another now.
  mutating func permitsChanged() { forgetMatches() }

  /// `rawName`: the name's JSON text; `name`: the name itself, read only when needed.
  @inline(__always)
  mutating func match(rawName: RawSpan, name: () -> String) -> Match {
    if recentName.span.bytes.isEqual(to: rawName), !recentName.isEmpty { return recentMatch }
    return matchOther(rawName: rawName, name: name)
  }

  private mutating func matchOther(rawName: RawSpan, name: () -> String) -> Match {
    let bytes = rawName.withUnsafeBytes { [UInt8]($0) }
    let found = match(rawName: bytes, name: name)
    if bytes.count <= Self.rememberedLength { (recentName, recentMatch) = (bytes, found) }
    return found
  }

  /// The JSON text is also the key of the memory.
  private mutating func match(rawName: [UInt8], name: () -> String) -> Match {
    if let known = matches[rawName] { return known }
    let text = name()
    let fitting = byPattern.matches(text, named: byName[ExactText(text)])
    work.note(fitting.words * text.utf8.count)
    var feeds: ContiguousArray<SubscriptionFeed.Pointer> = []
    var asked = AskedRules()
    for subscription in fitting.serials.compactMap({ ordered[$0] }) {
      let permit = subscription.filter.permit
      guard permit.passesAll || permit.passes(text, &asked) else { continue }
      feeds.append(subscription.feed)
    }
    work.note(asked.compared * text.utf8.count)
    let found = Match(feeds)
    guard rawName.count <= Self.rememberedLength else { return found }
    if matches.count >= Self.rememberedNames { forgetMatches() }
    matches[rawName] = found
    return found
  }

  private mutating func forgetMatches() {
    (recentName, recentMatch) = ([], noMatch)
    matches.removeAll(keepingCapacity: matches.count < 64)
  }
}

extension EventFilter {
  /// The globs, where `*` stands for the filter that wants every event.
  var patterns: [String] { wantsAll ? ["*"] : globs }
}
