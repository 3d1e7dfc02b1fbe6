/// What a session has asked its router for and was given: its subscriptions, or its registrations. Each topic is asked
/// for once, however many local programs want it, and given back once none does; no id that the router gave is ever
/// forgotten while it is valid (WAMP sections "Subscribing and Unsubscribing", "Registering and Unregistering").
///
/// A topic that is dropped while the router has not answered yet is given back as soon as the id is known; one that is
/// wanted again meanwhile is kept. One that is wanted again while it is being given back is asked for afresh
/// afterwards.
struct WAMPGrants: Equatable, Sendable {
  enum Action: Equatable, Sendable {
    /// Send SUBSCRIBE or REGISTER, and tell `asked(_:request:)` its id.
    case ask(WAMPTopic)
    /// Send UNSUBSCRIBE or UNREGISTER, and tell `returning(_:request:)` its id.
    case giveBack(WAMPTopic, id: UInt64)
    /// Tell those interests that it is live.
    case granted(WAMPTopic)
    /// Tell those interests that it is not to be had.
    case refused(WAMPTopic)
  }

  private enum State: Equatable {
    /// Nothing is under way, and `ask` was returned just now.
    case new
    case asked(request: UInt64)
    case granted(id: UInt64)
    /// `giveBack` was returned just now, or was sent as this request.
    case returning(request: UInt64?, id: UInt64)
    /// The router said no, or took it back; nothing is tried until the next session.
    case refused
  }

  private struct Entry: Equatable {
    var state = State.new
    var isWanted = true
  }

  private var entries: [WAMPTopic: Entry] = [:]
  private var topics: [UInt64: WAMPTopic] = [:]
  private var requests: [UInt64: WAMPTopic] = [:]

  /// How many ids of the router's are held.
  var idCount: Int { topics.count }
  /// Whether an answer of the router is awaited for something that is wanted.
  var isAsking: Bool {
    entries.values.contains { entry in
      guard entry.isWanted else { return false }
      switch entry.state {
      case .new, .asked, .returning: return true
      case .granted, .refused: return false
      }
    }
  }

  /// An interest wants it: the first one. Nil means that nothing has to be done, and `granted` or `refused` follow.
  mutating func want(_ topic: WAMPTopic) -> Action? {
    guard var entry = entries[topic] else {
      entries[topic] = Entry()
      return .ask(topic)
    }
    entry.isWanted = true
    defer { entries[topic] = entry }
    switch entry.state {
    case .new, .asked, .returning: return nil
    case .granted: return .granted(topic)
    case .refused:
      entry.state = .new
      return .ask(topic)
    }
  }

  /// No interest wants it any more.
  mutating func drop(_ topic: WAMPTopic) -> Action? {
    guard var entry = entries[topic] else { return nil }
    entry.isWanted = false
    switch entry.state {
    case .new, .asked, .returning:
      entries[topic] = entry
      return nil
    case .granted(let id):
      entry.state = .returning(request: nil, id: id)
      entries[topic] = entry
      return .giveBack(topic, id: id)
    case .refused:
      entries[topic] = nil
      return nil
    }
  }

  mutating func asked(_ topic: WAMPTopic, request: UInt64) {
    entries[topic]?.state = .asked(request: request)
    requests[request] = topic
  }

  mutating func returning(_ topic: WAMPTopic, request: UInt64) {
    guard case .returning(_, let id) = entries[topic]?.state else { return }
    entries[topic]?.state = .returning(request: request, id: id)
    requests[request] = topic
  }

  /// SUBSCRIBED or REGISTERED.
  mutating func granted(request: UInt64, id: UInt64, _ code: WAMPCode) throws(WAMPProblem) -> Action {
    guard let topic = requests[request], case .asked = entries[topic]?.state else { throw .unasked(code, request) }
    guard topics[id] == nil else { throw .repeatedID(code, id) }
    requests[request] = nil
    topics[id] = topic
    guard entries[topic]?.isWanted == true else {
      entries[topic]?.state = .returning(request: nil, id: id)
      return .giveBack(topic, id: id)
    }
    entries[topic]?.state = .granted(id: id)
    return .granted(topic)
  }

  /// UNSUBSCRIBED or UNREGISTERED.
  mutating func returned(request: UInt64, _ code: WAMPCode) throws(WAMPProblem) -> Action? {
    guard let topic = requests[request], case .returning(_, let id) = entries[topic]?.state else {
      throw .unasked(code, request)
    }
    requests[request] = nil
    topics[id] = nil
    return gone(topic)
  }

  /// An ERROR for one of the two requests; nil when it need not be known. The router that does not know an id any more
  /// has forgotten it as we wanted.
  mutating func failed(request: UInt64) -> Action? {
    guard let topic = requests.removeValue(forKey: request), let entry = entries[topic] else { return nil }
    if case .returning(_, let id) = entry.state {
      topics[id] = nil
      return gone(topic)
    }
    return refuse(topic)
  }

  /// The router took back what it gave.
  mutating func revoked(id: UInt64, _ code: WAMPCode) throws(WAMPProblem) -> Action? {
    guard let topic = topics[id] else { throw .unknownID(code, id) }
    // Our own giving back crossed it; its answer, an ERROR, will still come.
    if case .returning = entries[topic]?.state { return nil }
    topics[id] = nil
    return refuse(topic)
  }

  /// What an id of the router's stands for; nil for an unknown one.
  func topic(_ id: UInt64) -> (topic: WAMPTopic, isReturning: Bool)? {
    guard let topic = topics[id] else { return nil }
    if case .granted = entries[topic]?.state { return (topic, false) }
    return (topic, true)
  }

  /// What a request that is awaited is about.
  func topic(ofRequest request: UInt64) -> WAMPTopic? { requests[request] }

  /// Whether this request is one of these.
  func awaits(_ request: UInt64) -> Bool { requests[request] != nil }

  /// Whether a request that is awaited gives something back.
  func isReturning(_ request: UInt64) -> Bool {
    guard let topic = requests[request], case .returning = entries[topic]?.state else { return false }
    return true
  }

  private mutating func refuse(_ topic: WAMPTopic) -> Action? {
    guard entries[topic]?.isWanted == true else {
      entries[topic] = nil
      return nil
    }
    entries[topic]?.state = .refused
    return .refused(topic)
  }

  /// It was given back.
  private mutating func gone(_ topic: WAMPTopic) -> Action? {
    guard entries[topic]?.isWanted == true else {
      entries[topic] = nil
      return nil
    }
    entries[topic]?.state = .new
    return .ask(topic)
  }
}
