/// Who gets which event of one connection. Two mirrored indexes: from an event's name to the subscriptions that named
/// it, and from a subscription to its filter; what was found for a name is remembered until a subscription changes it.
struct Router {
  /// The subscriptions that get one event name, as the fan-out needs them.
  struct Match {
    var feeds: ContiguousArray<SubscriptionFeed.Pointer> = []
    /// Whether one of them answers acknowledgements.
    var hasAnswerer = false
  }

  /// Oldest first.
  private var subscriptions: [UInt64: Subscription] = [:]
  private var byName: [String: Set<UInt64>] = [:]
  /// Subscriptions with a pattern, or with none at all: each must be asked about each new name.
  private var byPattern: Set<UInt64> = []
  /// By the raw JSON text of the name.
  private var matches: [String: Match] = [:]

  /// More different names than this make the memory start afresh.
  private static let rememberedNames = 1_024
  /// A longer name, in bytes, is looked up each time.
  private static let rememberedLength = 256

  var count: Int { subscriptions.count }
  var all: [Subscription] { subscriptions.values.sorted { $0.serial < $1.serial } }

  mutating func add(_ subscription: Subscription) {
    subscriptions[subscription.serial] = subscription
    if let names = subscription.filter.exactNames {
      for name in names { byName[name, default: []].insert(subscription.serial) }
    } else {
      byPattern.insert(subscription.serial)
    }
    forgetMatches()
  }

  mutating func remove(_ subscription: Subscription) {
    guard subscriptions.removeValue(forKey: subscription.serial) != nil else { return }
    byPattern.remove(subscription.serial)
    for name in subscription.filter.exactNames ?? [] {
      byName[name]?.remove(subscription.serial)
      if byName[name]?.isEmpty == true { byName[name] = nil }
    }
    forgetMatches()
  }

  /// `rawName`: the name's JSON text, which is also the key of the memory; `name`: the name itself, read only when needed.
  mutating func match(rawName: String, name: () -> String) -> Match {
    if let known = matches[rawName] { return known }
    let text = name()
    let serials = byPattern.filter { subscriptions[$0]?.filter.matches(text) ?? false }
      .union(byName[text] ?? [])
    var found = Match()
    for subscription in serials.sorted().compactMap({ subscriptions[$0] }) {
      found.feeds.append(subscription.feed)
      if subscription.feed.pointee.answers { found.hasAnswerer = true }
    }
    guard rawName.utf8.count <= Self.rememberedLength else { return found }
    if matches.count >= Self.rememberedNames { forgetMatches() }
    matches[rawName] = found
    return found
  }

  private mutating func forgetMatches() {
    matches.removeAll(keepingCapacity: matches.count < 64)
  }
}

extension EventFilter {
  /// The names, where names are all there is: such a filter needs no matching.
  var exactNames: [String]? { globs.isEmpty ? names : nil }
}
