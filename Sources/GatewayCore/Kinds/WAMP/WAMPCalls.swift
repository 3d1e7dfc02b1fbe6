/// The requests of a session that the owner waits for: calls and acknowledged publications. An answer finds its way
/// back by the id; answers to what was given up are known as such and ignored.
struct WAMPCalls: Equatable, Sendable {
  /// What a request was.
  enum Kind: Equatable, Sendable {
    case call
    case publish

    /// The type of its request, which an ERROR names.
    var request: WAMPCode {
      switch self {
      case .call: .call
      case .publish: .publish
      }
    }
  }

  private struct Entry: Equatable {
    var kind: Kind
    /// The owner's id; nil when it gave up.
    var ack: UInt64?
  }

  /// How many requests that were given up are remembered. The answer to an older one is ignored all the same.
  static let forgottenLimit = 4_096

  private var entries: [UInt64: Entry] = [:]
  private var requests: [UInt64: UInt64] = [:]
  /// Those given up, in their order.
  private var forgotten: [UInt64] = []
  /// Answers to requests up to this one may come that are not known any more.
  private var floor: UInt64 = 0

  /// How many are awaited.
  var count: Int { requests.count }

  /// Nil for `ack`: the owner does not wait, but an answer will come.
  mutating func add(_ request: UInt64, _ kind: Kind, ack: UInt64?) {
    entries[request] = Entry(kind: kind, ack: ack)
    if let ack { requests[ack] = request } else { note(forgotten: request) }
  }

  /// The owner gave up. Returns the request of a call, which can be cancelled.
  mutating func forget(ack: UInt64) -> UInt64? {
    guard let request = requests.removeValue(forKey: ack), let entry = entries[request] else { return nil }
    entries[request]?.ack = nil
    note(forgotten: request)
    return entry.kind == .call ? request : nil
  }

  /// A result that others will follow: the owner's id, or nil when it does not wait.
  func progressed(_ request: UInt64) throws(WAMPProblem) -> UInt64? {
    guard let entry = entries[request] else { return try unknown(.result, request) }
    guard entry.kind == .call else { throw .unasked(.result, request) }
    return entry.ack
  }

  /// RESULT or PUBLISHED: the owner's id, or nil when it does not wait.
  mutating func answered(_ request: UInt64, _ kind: Kind) throws(WAMPProblem) -> UInt64? {
    let code: WAMPCode = kind == .call ? .result : .published
    guard let entry = entries[request] else { return try unknown(code, request) }
    guard entry.kind == kind else { throw .unasked(code, request) }
    return take(request)
  }

  /// ERROR for a request of this type: the owner's id, or nil when it does not wait.
  mutating func failed(_ request: UInt64, type: WAMPCode) throws(WAMPProblem) -> UInt64? {
    guard let entry = entries[request] else { return try unknown(.error, request) }
    guard entry.kind.request == type else { throw .wrongRequestType(type, request) }
    return take(request)
  }

  private mutating func take(_ request: UInt64) -> UInt64? {
    guard let ack = entries.removeValue(forKey: request)?.ack else {
      forgotten.removeAll { $0 == request }
      return nil
    }
    requests[ack] = nil
    return ack
  }

  private func unknown(_ code: WAMPCode, _ request: UInt64) throws(WAMPProblem) -> UInt64? {
    guard request <= floor else { throw .unasked(code, request) }
    return nil
  }

  private mutating func note(forgotten request: UInt64) {
    forgotten.append(request)
    guard forgotten.count > Self.forgottenLimit else { return }
    for request in forgotten.prefix(Self.forgottenLimit / 2) {
      entries[request] = nil
      floor = max(floor, request)
    }
    forgotten.removeFirst(Self.forgottenLimit / 2)
  }
}

/// The invocations that the router waits for. Their ids are the router's own sequence (WAMP section "IDs").
struct WAMPInvocations: Equatable, Sendable {
  /// Most at a time; the router gets an ERROR for one beyond.
  static let limit = 65_536

  private var open: Set<UInt64> = []

  /// How many await their answer.
  var count: Int { open.count }

  /// False when there is no room.
  mutating func began(_ request: UInt64) throws(WAMPProblem) -> Bool {
    guard !open.contains(request) else { throw .repeatedID(.invocation, request) }
    guard open.count < Self.limit else { return false }
    open.insert(request)
    return true
  }

  /// An answer is there, or the router wants none any more. False when it is not awaited: an INTERRUPT and an answer
  /// may cross.
  mutating func ended(_ request: UInt64) -> Bool { open.remove(request) != nil }
}

/// The publications that came last. A session with overlapping subscriptions gets a publication once for each of them,
/// and local programs get it once (WAMP section "Publishing and Events": a publication has one id).
struct WAMPPublications: Equatable, Sendable {
  /// How many are remembered. Copies of one publication follow each other closely.
  static let limit = 1_024

  private var ring: [UInt64] = []
  private var oldest = 0
  private var known: Set<UInt64> = []

  /// False for a copy.
  mutating func note(_ publication: UInt64) -> Bool {
    guard known.insert(publication).inserted else { return false }
    guard ring.count == Self.limit else {
      ring.append(publication)
      return true
    }
    known.remove(ring[oldest])
    ring[oldest] = publication
    oldest = (oldest + 1) % Self.limit
    return true
  }
}
