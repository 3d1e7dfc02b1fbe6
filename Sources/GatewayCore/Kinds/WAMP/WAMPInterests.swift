/// What local programs want of a router, as subscriptions or as registrations. Several interests may need the same
/// topic, such as two globs that begin alike: the router is asked once, and each of them hears its answer.
struct WAMPInterests {
  /// What the router is asked for.
  enum Kind: Equatable, Sendable {
    case subscriptions
    case registrations(WAMPInvocationPolicy)
  }

  /// What the session has to do.
  enum Step: Equatable {
    /// The words are for the observers.
    case send([UInt8], words: String)
    /// Tell those that it is theirs or, with a failure, that it is not to be had.
    case tell(Set<Interest>, UpstreamFailure?)
  }

  private struct Holders {
    var all: Set<Interest> = []
    /// Interests that await the router's word.
    var waiting: Set<Interest> = []
    /// The topic as a JSON string.
    var name: [UInt8]
  }

  private let kind: Kind
  private(set) var grants = WAMPGrants()
  private var holders: [WAMPTopic: Holders] = [:]

  init(_ kind: Kind) { self.kind = kind }

  // MARK: - From the connection

  mutating func want(_ interest: Interest, _ requests: inout WAMPRequestIDs) -> Step? {
    let topic = interest.topic
    var entry = holders[topic] ?? Holders(name: Self.json(topic.uri))
    entry.all.insert(interest)
    entry.waiting.insert(interest)
    holders[topic] = entry
    return step(grants.want(topic), &requests)
  }

  mutating func drop(_ interest: Interest, _ requests: inout WAMPRequestIDs) -> Step? {
    let topic = interest.topic
    guard var entry = holders[topic], entry.all.remove(interest) != nil else { return nil }
    entry.waiting.remove(interest)
    guard entry.all.isEmpty else {
      holders[topic] = entry
      return nil
    }
    holders[topic] = nil
    return step(grants.drop(topic), &requests)
  }

  // MARK: - From the router

  /// SUBSCRIBED or REGISTERED.
  mutating func granted(
    request: UInt64, id: UInt64, _ requests: inout WAMPRequestIDs
  ) throws(WAMPProblem) -> Step? {
    step(try grants.granted(request: request, id: id, kind == .subscriptions ? .subscribed : .registered), &requests)
  }

  /// UNSUBSCRIBED or UNREGISTERED.
  mutating func returned(request: UInt64, _ requests: inout WAMPRequestIDs) throws(WAMPProblem) -> Step? {
    step(try grants.returned(request: request, returned), &requests)
  }

  /// The router took back what it gave.
  mutating func revoked(
    id: UInt64, _ why: UpstreamFailure, _ requests: inout WAMPRequestIDs
  ) throws(WAMPProblem) -> Step? {
    step(try grants.revoked(id: id, returned), &requests, why)
  }

  /// ERROR for a request of that type.
  mutating func failed(
    request: UInt64, _ type: WAMPCode, _ why: UpstreamFailure, _ requests: inout WAMPRequestIDs
  ) throws(WAMPProblem) -> Step? {
    guard grants.awaits(request) else { throw .unasked(.error, request) }
    guard grants.isReturning(request) == (type == giveBack) else { throw .wrongRequestType(type, request) }
    return step(grants.failed(request: request), &requests, why)
  }

  private var returned: WAMPCode { kind == .subscriptions ? .unsubscribed : .unregistered }
  private var giveBack: WAMPCode { kind == .subscriptions ? .unsubscribe : .unregister }

  // MARK: - What follows

  private mutating func step(
    _ action: WAMPGrants.Action?, _ requests: inout WAMPRequestIDs, _ why: UpstreamFailure? = nil
  ) -> Step? {
    switch action {
    case nil: return nil
    case .ask(let topic): return ask(topic, requests.take())
    case .giveBack(let topic, let id):
      let request = requests.take()
      grants.returning(topic, request: request)
      return .send(WAMPWriter.giveBack(giveBack, request, id: id), words: "\(giveBack.word) \(topic.uri)")
    case .granted(let topic):
      defer { holders[topic]?.waiting = [] }
      return .tell(holders[topic]?.waiting ?? [], nil)
    case .refused(let topic):
      defer { holders[topic]?.waiting = [] }
      return .tell(holders[topic]?.all ?? [], why ?? UpstreamFailure(.refused, "the router refused it"))
    }
  }

  private mutating func ask(_ topic: WAMPTopic, _ request: UInt64) -> Step {
    grants.asked(topic, request: request)
    let match = topic.match == .exact ? "" : ", \(topic.match.rawValue)"
    switch kind {
    case .subscriptions:
      return .send(WAMPWriter.subscribe(request, topic), words: "SUBSCRIBE \(topic.uri)\(match)")
    case .registrations(let policy):
      return .send(
        WAMPWriter.register(request, topic, invoke: policy), words: "REGISTER \(topic.uri)\(match)")
    }
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
