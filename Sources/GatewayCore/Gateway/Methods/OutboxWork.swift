/// Something that is done to many entries of the outbox: a portion in each turn, so that the loop serves the others in
/// between. Done when every portion was, and when the disk has decided everything that was awaited.
final class OutboxWork {
  private struct Result {
    /// How many entries it concerned.
    var count = 0
    /// How many decisions of the disk were refusals.
    var refused = 0
    /// Why the first of them was.
    var problem: StorageProblem?
  }

  private var result = Result()
  private var left = 1
  private let done: (Result) -> Void

  /// How many entries it concerned so far.
  var count: Int {
    get { result.count }
    set { result.count = newValue }
  }

  /// Entries per turn: few milliseconds.
  static let portion = 500

  /// What the answer says where the disk did not take everything.
  enum Answer {
    /// What has happened has happened: the disk will be told again.
    case whateverTheDiskSays
    /// What the disk does not take stays as it was.
    case asTheDiskSays
  }

  private init(_ done: @escaping (Result) -> Void) { self.done = done }

  /// Does something to many entries, some at a time so that no other client has to wait for all of them, and answers as
  /// soon as the disk has decided everything that was awaited.
  static func answer(
    _ id: RequestID?, of session: LocalSession, onceDone records: [OutboxRecord], _ answer: Answer,
    _ body: @escaping (Gateway, OutboxRecord, OutboxWork) -> Void
  ) {
    let number = session.makeCallNumber()
    session.open(OpenOutboxWork(id), number: number)
    let work = OutboxWork { [weak session] result in
      guard let session, let call = session.close(number) else { return }
      switch answer {
      case .whateverTheDiskSays: sayChanged(session, call.id, result)
      case .asTheDiskSays: sayTaken(session, call.id, result)
      }
    }
    let gateway = session.gateway
    gateway.shares.work.forEach(
      of: records[...], portion: portion, for: .user(session.peer.uid),
      { [weak gateway] record in if let gateway { body(gateway, record, work) } },
      then: { work.decided(nil) })
  }

  private static func sayChanged(_ session: LocalSession, _ id: RequestID?, _ result: Result) {
    session.reply(id) {
      $0.member("count", result.count)
      guard let problem = result.problem else { return }
      $0.key("saved")
      $0.bool(false)
      $0.member("reason", problem.kind.rawValue)
      $0.member("detail", problem.message)
    }
  }

  private static func sayTaken(_ session: LocalSession, _ id: RequestID?, _ result: Result) {
    guard let problem = result.problem else { return session.reply(id) { $0.member("count", result.count) } }
    session.reply(id, LocalError(outbox: problem, refused: result.refused, of: result.count))
  }

  /// One more decision of the disk is awaited; what is returned hears it.
  func awaited() -> (StorageProblem?) -> Void {
    left += 1
    return { [self] in decided($0) }
  }

  private func decided(_ problem: StorageProblem?) {
    if let problem {
      result.refused += 1
      result.problem = result.problem ?? problem
    }
    left -= 1
    if left == 0 { done(result) }
  }
}

/// A call that concerns entries of the outbox. What it has begun goes on whether its client waits for the answer or
/// not.
private final class OpenOutboxWork: OpenCall {
  let id: RequestID?

  init(_ id: RequestID?) { self.id = id }

  var outlivesStop: Bool { true }
}
