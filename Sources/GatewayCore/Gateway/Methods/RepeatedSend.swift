/// A durable send with the `key` of one that is not on the disk yet. It is made once more when that one is decided: where it
/// lasts its id is the answer, and where it came to nothing the repeated one is the first.
final class RepeatedSend: OpenCall {
  let requestID: RequestID?
  private let call: SendParameters
  private let form: SendForm
  private weak var session: LocalSession?
  private let number: UInt64
  private var timer: Timers.ID?

  private init(_ call: SendParameters, _ form: SendForm, _ id: RequestID, in session: LocalSession) {
    (requestID, self.call, self.form, self.session) = (id, call, form, session)
    number = session.makeCallNumber()
  }

  deinit { session?.gateway.seams.timers.cancel(timer) }

  /// Waits for the send of an id, no longer than the call allows.
  static func wait(
    for first: String, _ call: SendParameters, _ form: SendForm, _ id: RequestID, on connection: Connection,
    in session: LocalSession
  ) {
    let repeated = RepeatedSend(call, form, id, in: session)
    session.open(repeated, number: repeated.number)
    let error = LocalError(.notStored(.late), on: connection)
    repeated.timer = session.gateway.seams.timers.after(call.timeout ?? SendParameters.usualTimeout) {
      [weak repeated] in
      repeated?.end(error)
    }
    session.gateway.relay.repeats.add(for: first) { [weak repeated] in repeated?.goOn() }
  }

  /// They are looked at when the send is made once more.
  func demandRights(in session: LocalSession) {}

  private func end(_ error: LocalError) {
    timer = nil
    session?.end(number, error)
  }

  private func goOn() {
    guard let session, session.close(number) != nil else { return }
    do throws(LocalError) { try SendSubmission.begin(call, form, requestID, in: session) } catch {
      session.reply(requestID, error)
    }
  }
}

/// What waits until sends are decided, by their ids.
final class RepeatedSends {
  private let work: SlicedWork
  private var waiting: [String: [() -> Void]] = [:]
  /// So many go on in a turn.
  private static let portion = 64

  init(_ timers: Timers) { work = SlicedWork(timers) }

  func add(for id: String, _ body: @escaping () -> Void) { waiting[id, default: []].append(body) }

  /// They go on, not before the next turn.
  func decided(_ id: String) {
    guard let bodies = waiting.removeValue(forKey: id) else { return }
    work.add(for: .configuration) { [work] in
      work.forEach(of: bodies, portion: Self.portion, for: .configuration) { $0() }
      return true
    }
  }
}
