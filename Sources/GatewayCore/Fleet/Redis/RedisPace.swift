/// How soon the streams are asked for again. Each question that waits costs the server some 12 µs when an entry comes, and all
/// hosts of a fleet wait for the same one: a hundred hosts and a thousand events a second would keep it from everything else.
/// Where hosts are many a question comes no sooner than a while after the one before it, and brings what has come
/// meanwhile. What comes alone is never kept waiting.
struct RedisPace {
  private var hosts: [FleetPlace: Int] = [:]
  /// The least time from one question to the next one.
  private(set) var rest: Duration = .zero

  /// For each host: all of them together ask 33,000 times a second at most, half of what a server can answer.
  static let share: Duration = .microseconds(30)
  /// With fewer hosts the rest would be too short for anything to come meanwhile.
  static let fewest = 32
  /// However many they are: a request waits for it too.
  static let longest: Duration = .milliseconds(20)

  /// So many hosts of an upstream read the same server.
  mutating func note(hosts count: Int, of place: FleetPlace) {
    guard hosts[place] != count else { return }
    hosts[place] = count
    // Most of them are the same hosts for all upstreams.
    let most = hosts.values.max() ?? 0
    rest = most < Self.fewest ? .zero : min(Self.share * most, Self.longest)
  }
}
