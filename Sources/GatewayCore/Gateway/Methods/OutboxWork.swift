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
  static let portion = 250

  /// What the answer says where the disk did not take everything.
  enum Answer {
    /// What has happened has happened: the disk will be told again.
    case whateverTheDiskSays
    /// What the disk does not take stays as it was.
    case asTheDiskSays
  }

  private enum Step {
    case looking
    case doing
    /// What was found is let go of, a portion at a time too.
    case refused
  }

  private init(_ done: @escaping (Result) -> Void) { self.done = done }

  /// Looks for entries and does something to each, some at a time so that no other client has to wait for all of them;
  /// the first of them at once. Answers as soon as the disk has decided everything that was awaited.
  ///
  /// What the caller may not do any more by then is left out.
  ///
  /// - Parameter isReady: is called when all are found, until it returns true, with how many may be looked at for it.
  ///   What it throws is the answer, and nothing is done.
  static func answer(
    _ id: RequestID?, of session: LocalSession, onceDone choice: OutboxSelection.Choice, _ answer: Answer,
    isReady: @escaping (inout Int) throws(LocalError) -> Bool = { _ in true },
    _ body: @escaping (Gateway, OutboxRecord, OutboxWork) -> Void
  ) {
    let search = choice.search
    let number = session.makeCallNumber()
    session.open(OpenOutboxWork(id), number: number)
    let work = OutboxWork { [weak session] result in
      guard let session, let call = session.close(number) else { return }
      switch answer {
      case .whateverTheDiskSays: sayChanged(session, call.requestID, result)
      case .asTheDiskSays: sayTaken(session, call.requestID, result)
      }
    }
    var step = Step.looking
    let reference = session.gateway.reference
    session.gateway.shares.work.begin(for: .user(session.peer.uid)) { [weak session] in
      guard let gateway = reference.object, !gateway.isClosed else { return true }
      var portion = OutboxSearch.portion
      guard search.look(&portion) else { return false }
      if step == .looking {
        do throws(LocalError) {
          guard try isReady(&portion) else { return false }
          step = .doing
        } catch {
          step = .refused
          if let session, let call = session.close(number) { session.reply(call.requestID, error) }
        }
      }
      for _ in 0..<Self.portion {
        guard let record = search.next() else {
          if step == .doing { work.decided(nil) }
          return true
        }
        if step == .doing, choice.isAllowed(record) { body(gateway, record, work) }
      }
      return false
    }
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
  let requestID: RequestID?

  init(_ id: RequestID?) { requestID = id }

  var outlivesStop: Bool { true }

  /// What its caller may not do any more is left out of what it does.
  func demandRights(in session: LocalSession) {}
}
