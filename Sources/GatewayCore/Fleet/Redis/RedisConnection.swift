/// One connection to a Redis server: logs in, finds out which server it is, and then asks one thing behind the other
/// without waiting for answers, which come in the same order. It never asks twice, and ends at whatever goes wrong.
final class RedisConnection {
  /// Told what becomes of it, never from within one of its own methods.
  protocol Owner: AnyObject {
    /// The server is one that can be used. Told once.
    func connectionReady(_ connection: RedisConnection)
    /// All answers that are there have been told.
    func connectionRests(_ connection: RedisConnection)
    /// It is over; nothing more is told, and what was asked has no answer.
    func connectionLost(_ connection: RedisConnection, _ trouble: RedisTrouble)
  }

  private enum State {
    /// May become `checking` or `over`.
    case dialling
    /// The login is under way. May become `ready` or `over`.
    case checking(RedisLogin)
    /// May become `over`.
    case ready
    case over
  }

  /// One question.
  private struct Call {
    /// How many levels of its answer are handed over element by element.
    let opening: Int
    /// Nil: the answer comes when there is something to say.
    let sent: MonotonicInstant?
    let answer: Answer
  }

  /// Takes a value of an answer, or all of it, and whether it was the last. What it returns ends the connection.
  typealias Answer = (_ nodes: [RESPNode], _ bytes: RawSpan, _ isLast: Bool) -> RedisTrouble?

  private let timers: Timers
  /// How long an answer may take.
  private let limit: Duration
  private weak var owner: (any Owner)?
  private var state = State.dialling
  private var transport: (any Transport)?
  /// Nil once it is under way.
  private var login: RedisLogin?
  private let reader = RESPReader()
  private var writer = RESPWriter()
  private var calls = Ring<Call>()
  private var timer: Timers.ID?
  /// When something came last.
  private var heard: MonotonicInstant?

  /// Which server it is; nil before it is ready.
  private(set) var server: RedisServer?
  /// How long the last answer took that was asked for when nothing else was; nil before there was one.
  private(set) var roundTrip: Duration?

  init(timers: Timers, limit: Duration, owner: any Owner) {
    self.timers = timers
    self.limit = limit
    self.owner = owner
  }

  deinit {
    timers.cancel(timer)
    transport?.close()
  }

  /// Begins. The request has limits of its own for name, TCP and TLS.
  func dial(_ request: DialRequest, by dialer: any TransportDialer, login: RedisLogin) {
    self.login = login
    transport = dialer.dial(request, receiver: self)
  }

  /// Asks something. With `isPatient` the answer may take as long as it likes, as does everything behind it.
  func ask(
    opening: Int = 0, isPatient: Bool = false, _ write: (inout RESPWriter) -> Void, _ answer: @escaping Answer
  ) {
    if case .over = state { return }
    let now = timers.now
    calls.append(Call(opening: opening, sent: isPatient ? nil : now, answer: answer))
    write(&writer)
    let bytes = writer.bytes
    transport?.send(binary: bytes.span.bytes)
    writer.removeAll()
    if timer == nil { lookAfter(now + limit) }
  }

  private var isReady: Bool { if case .ready = state { true } else { false } }

  /// Lets go. The owner is not told.
  func close() {
    state = .over
    timers.cancel(timer)
    timer = nil
    calls = Ring()
    transport?.close()
    transport = nil
  }

  private func lose(_ trouble: RedisTrouble) {
    if case .over = state { return }
    close()
    owner?.connectionLost(self, trouble)
  }

  /// The server is silent, or gone. Where it has refused the login that is why.
  private func lose(inSilence trouble: RedisTrouble) {
    if case .checking(let login) = state, let refusal = login.refusal { return lose(refusal) }
    lose(trouble)
  }

  /// One timer for all questions: where the oldest has time left it waits for the rest.
  private func lookAfter(_ deadline: MonotonicInstant) {
    timer = timers.at(deadline) { [weak self] in
      guard let self else { return }
      timer = nil
      guard let call = calls.first else { return }
      // Behind one that may take its time the others do, too.
      guard let sent = call.sent else { return lookAfter(timers.now + limit) }
      // A long answer takes its time, but not in silence; those to the login are short.
      let last = isReady ? max(sent, heard ?? sent) : sent
      guard timers.now - last >= limit else { return lookAfter(last + limit) }
      lose(inSilence: .silent(limit))
    }
  }
}

extension RedisConnection: TransportReceiver {
  func transportOpened(_ facts: TransportFacts, headers: [HTTPHeader]) {
    guard case .dialling = state, let login else { return }
    state = .checking(login)
    self.login = nil
    for step in login.steps {
      ask(step.write) { [unowned self] nodes, bytes, _ in
        do throws(RedisTrouble) {
          guard case .checking(var login) = state else { return nil }
          let isReady = try login.take(step, nodes, bytes)
          state = isReady ? .ready : .checking(login)
          if isReady {
            server = login.server
            owner?.connectionReady(self)
          }
          return nil
        } catch { return error }
      }
    }
  }

  func transportReceived(text: RawSpan) { transportReceived(binary: text) }

  func transportReceived(binary bytes: RawSpan) {
    heard = timers.now
    var trouble: RedisTrouble?
    do throws(RESPProblem) {
      try reader.receive(bytes, opening: { calls.first?.opening ?? 0 }) { nodes, bytes, isLast in
        guard let call = calls.first else {
          trouble = Self.unasked(nodes, bytes)
          return false
        }
        if isLast {
          _ = calls.popFirst()
          if calls.isEmpty, let sent = call.sent { roundTrip = timers.now - sent }
        }
        trouble = call.answer(nodes, bytes, isLast)
        guard trouble == nil, case .over = state else { return trouble == nil }
        return false
      }
    } catch { trouble = .malformed(error) }
    if let trouble { return lose(trouble) }
    if case .over = state { return }
    owner?.connectionRests(self)
  }

  private static func unasked(_ nodes: [RESPNode], _ bytes: RawSpan) -> RedisTrouble {
    guard case .error(let range)? = nodes.first else { return .senseless("an answer that nobody asked for") }
    return .turnedAway(RedisError(bytes.extracting(range)).text)
  }

  func transportClosed(_ failure: TransportFailure) { lose(inSilence: .link(failure.failure)) }
}
