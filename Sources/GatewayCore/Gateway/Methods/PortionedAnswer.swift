/// An answer that is written in portions, as with thousands of connections it takes longer than a turn of the loop may.
/// Decision 0102.
protocol PortionedAnswer: AnyObject {
  /// What is written so far: once that is all, the line.
  var line: [UInt8] { get }

  /// Whether it is worth more than one turn now.
  func isLong(in gateway: Gateway) -> Bool

  /// Writes the next portion for the client that asked, which sees what it may see at that moment. Returns whether that
  /// was all.
  func write(for session: LocalSession) -> Bool

  /// Throws what the caller would be told if it asked now.
  func demandRights(of caller: Caller) throws(LocalError)
}

extension PortionedAnswer {
  func demandRights(of caller: Caller) throws(LocalError) { try caller.demandStatus() }
}

/// An answer that is written in turns of its own. Until it is complete, nothing more of its client is heard, so that a
/// client has one at a time.
final class OpenAnswer: OpenCall {
  let requestID: RequestID?
  private let answer: any PortionedAnswer

  private init(_ id: RequestID, _ answer: any PortionedAnswer) {
    requestID = id
    self.answer = answer
  }

  var pausesInput: Bool { true }

  func demandRights(in session: LocalSession) throws(LocalError) { try answer.demandRights(of: session.caller) }

  /// Answers at once, or a long answer in turns of its own; a notification is not answered. While the daemon ends,
  /// nothing waits for turns any more: what is long is not answered then.
  static func begin(
    _ id: RequestID?, in session: LocalSession, _ make: (RequestID) -> any PortionedAnswer
  ) throws(LocalError) {
    guard let id else { return }
    let (answer, gateway) = (make(id), session.gateway)
    guard answer.isLong(in: gateway) else {
      while !answer.write(for: session) {}
      return session.reply(line: answer.line)
    }
    guard !gateway.isStopping else { throw .draining }
    try session.checkOpenCalls()
    let number = session.makeCallNumber()
    session.open(OpenAnswer(id, answer), number: number)
    gateway.shares.work.add(for: .user(session.peer.uid)) { [weak session] in
      guard let session else { return true }
      return Self.writeOn(number, in: session)
    }
  }

  /// Writes the next portion. Returns whether that was all, or the client does not wait for it any more.
  private static func writeOn(_ number: UInt64, in session: LocalSession) -> Bool {
    guard let answer = (session.openCall(number) as? OpenAnswer)?.answer else { return true }
    guard answer.write(for: session) else { return false }
    _ = session.close(number)
    session.reply(line: answer.line)
    return true
  }
}
