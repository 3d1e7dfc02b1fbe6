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

  /// An answer is there, or the router wants none any more. False when it is not awaited: an INTERRUPT and an answer may
  /// cross.
  mutating func ended(_ request: UInt64) -> Bool { open.remove(request) != nil }
}
