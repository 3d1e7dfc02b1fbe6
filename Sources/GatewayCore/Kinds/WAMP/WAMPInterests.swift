/// What local programs want of a router, as subscriptions or as registrations. Several interests may need the same
/// topic, such as two globs that begin alike: the router is asked once, and each of them hears its answer.
struct WAMPInterests {
  private struct Holders {
    var all: Set<Interest> = []
    /// Interests that await the router's word.
    var waiting: Set<Interest> = []
    /// The topic as a JSON string.
    var name: [UInt8]
  }

  private(set) var grants = WAMPGrants()
  private var holders: [WAMPTopic: Holders] = [:]

  /// What has to be done, and whether this interest is served already.
  mutating func want(_ interest: Interest) -> WAMPGrants.Action? {
    let topic = interest.topic
    var entry = holders[topic] ?? Holders(name: Self.json(topic.uri))
    entry.all.insert(interest)
    entry.waiting.insert(interest)
    holders[topic] = entry
    return grants.want(topic)
  }

  mutating func drop(_ interest: Interest) -> WAMPGrants.Action? {
    let topic = interest.topic
    guard var entry = holders[topic], entry.all.remove(interest) != nil else { return nil }
    entry.waiting.remove(interest)
    guard entry.all.isEmpty else {
      holders[topic] = entry
      return nil
    }
    holders[topic] = nil
    return grants.drop(topic)
  }

  mutating func asked(_ topic: WAMPTopic, request: UInt64) { grants.asked(topic, request: request) }
  mutating func returning(_ topic: WAMPTopic, request: UInt64) { grants.returning(topic, request: request) }

  mutating func granted(request: UInt64, id: UInt64, _ code: WAMPCode) throws(WAMPProblem) -> WAMPGrants.Action {
    try grants.granted(request: request, id: id, code)
  }

  mutating func returned(request: UInt64, _ code: WAMPCode) throws(WAMPProblem) -> WAMPGrants.Action? {
    try grants.returned(request: request, code)
  }

  mutating func failed(request: UInt64) -> WAMPGrants.Action? { grants.failed(request: request) }

  mutating func revoked(id: UInt64, _ code: WAMPCode) throws(WAMPProblem) -> WAMPGrants.Action? {
    try grants.revoked(id: id, code)
  }

  /// Interests that hear that a topic was granted.
  mutating func takeWaiting(_ topic: WAMPTopic) -> Set<Interest> {
    defer { holders[topic]?.waiting = [] }
    return holders[topic]?.waiting ?? []
  }

  /// Interests that hear that a topic is not to be had.
  mutating func takeAll(_ topic: WAMPTopic) -> Set<Interest> {
    defer { holders[topic]?.waiting = [] }
    return holders[topic]?.all ?? []
  }

  /// The topic as a JSON string.
  func name(_ topic: WAMPTopic) -> [UInt8] { holders[topic]?.name ?? Self.json(topic.uri) }

  private static func json(_ text: String) -> [UInt8] {
    var writer = JSONWriter(reserving: text.utf8.count + 2)
    writer.string(text)
    return writer.bytes
  }
}

extension Interest {
  /// What a router is asked for on its behalf.
  var topic: WAMPTopic {
    switch pattern {
    case .all: .all
    case .name(let name): WAMPTopic(uri: name.text, match: .exact)
    case .glob(let glob): WAMPTopic(glob: glob.text)
    }
  }
}
