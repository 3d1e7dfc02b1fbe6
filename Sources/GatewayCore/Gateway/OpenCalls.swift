/// A call that is not answered yet, and what it waits for. Each method whose calls may wait has a type of its own for
/// them.
protocol OpenCall: AnyObject {
  /// Nil for a notification, which is never answered.
  var requestID: RequestID? { get }

  /// It is made again for what an earlier daemon has answered.
  var isRestored: Bool { get }

  /// The connection that it is about; nil for those that have none, or some of their own.
  var connection: Connection? { get }

  /// Whether it goes on while the gateway stops: it has an outcome by the end of that. The others are answered as
  /// draining.
  var outlivesStop: Bool { get }

  /// Whether nothing more of its client is heard until it is answered.
  var pausesInput: Bool { get }

  /// The call for the daemon that goes on after a hand-over; nil where it cannot go on.
  func continuation(at now: MonotonicInstant) -> CallContinuation?

  /// Takes back what is not done yet. Whoever cancels a call takes it out of its session, and answers it.
  func cancel(in session: LocalSession)

  /// What that counts among `Departures`.
  var cancelCost: Int { get }

  /// Throws what its caller would be told if the call were made now.
  func demandRights(in session: LocalSession) throws(LocalError)
}

extension OpenCall {
  var isRestored: Bool { requestID?.isAnswered == true }
  var connection: Connection? { nil }
  var outlivesStop: Bool { false }
  var pausesInput: Bool { false }
  func continuation(at now: MonotonicInstant) -> CallContinuation? { nil }
  func cancel(in session: LocalSession) {}
  var cancelCost: Int { 1 }
}

/// The calls of one local client that are not answered yet, by number, and by the id that the client gave them.
struct OpenCalls {
  private var calls = NumberTable<any OpenCall>()
  /// By the client's ids, from the moment at which there are more than `few` until none is left: most clients make one
  /// call after the other, whose id is never looked for.
  private var numbers: [RequestID: UInt64]?
  private static let few = 4
  /// How many are repeated for what an earlier daemon's client had, and have not come to their end: until they have,
  /// nothing is heard that might be about it.
  private(set) var restoredCount = 0
  /// How many others have to be answered before anything more is heard.
  private var pausingCount = 0

  var count: Int { calls.count }
  var isEmpty: Bool { calls.isEmpty }
  /// Whether nothing more of the client is heard meanwhile.
  @inline(__always)
  var pauseInput: Bool { pausingCount + restoredCount > 0 }
  var all: some Sequence<any OpenCall> { calls.values }
  var numbered: some Sequence<(key: UInt64, value: any OpenCall)> { calls.pairs }

  subscript(number: UInt64) -> (any OpenCall)? { calls[number] }

  /// The number of the call with an id; nil if none is open.
  func number(of id: RequestID) -> UInt64? {
    guard !calls.isEmpty else { return nil }
    if let numbers { return numbers[id] }
    return calls.pairs.first { $0.value.requestID == id }?.key
  }

  mutating func add(_ call: any OpenCall, number: UInt64) {
    calls[number] = call
    note(call, 1)
    if numbers != nil {
      if let id = call.requestID { numbers?[id] = number }
    } else if calls.count > Self.few {
      var found: [RequestID: UInt64] = [:]
      for (number, call) in calls.pairs { if let id = call.requestID { found[id] = number } }
      numbers = found
    }
  }

  /// Takes a call out; nil if it is not open.
  mutating func remove(_ number: UInt64) -> (any OpenCall)? {
    guard let call = calls.removeValue(forKey: number) else { return nil }
    note(call, -1)
    if calls.isEmpty {
      numbers = nil
    } else if let id = call.requestID {
      numbers?[id] = nil
    }
    return call
  }

  private mutating func note(_ call: any OpenCall, _ difference: Int) {
    if call.isRestored { restoredCount += difference }
    if call.pausesInput { pausingCount += difference }
  }
}

/// A call that was not answered when its daemon handed over, and goes on in the next one.
struct SuspendedCall {
  /// Nil for a notification.
  let id: RequestID?
  private let call: CallContinuation

  init(id: RequestID?, _ call: CallContinuation) {
    self.id = id
    self.call = call
  }

  /// For the next daemon, which has to know whether a call without an id was answered or never is.
  var continuation: CallContinuation {
    var call = call
    call.isNotification = id == nil
    return call
  }
}
