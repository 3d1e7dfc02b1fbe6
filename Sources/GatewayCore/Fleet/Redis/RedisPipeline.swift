/// What is asked of a Redis server on its command connection: each call has its outcome exactly once, in the order of the
/// calls, also where some of them count only once enough replicas have them. That is asked of the server by one WAIT
/// behind all such calls of a turn.
final class RedisPipeline {
  /// An answer, in a form that needs no bytes.
  enum Reply: Equatable, Sendable {
    case value(FleetReply)
    case error(RedisError)
    /// It was carried out, and fewer replicas than are wanted have confirmed it in time.
    case uncopied

    fileprivate var isError: Bool { if case .error = self { true } else { false } }
  }

  private struct Call {
    let number: UInt64
    /// What it is about; nil where it is of no concern to people that it is refused.
    let subject: Subject?
    let mustLast: Bool
    /// Set once it was answered.
    var reply: Reply?
    /// Whether as many replicas as are wanted have it; nil while that is not known.
    var isCopied: Bool?
    /// Nil: no answer has come; the question may never have left.
    let settle: (Reply?) -> Void

    /// It counts only once enough replicas have it.
    var awaitsCopies: Bool {
      guard mustLast, case .value(let value) = reply else { return false }
      return value != .null
    }

    /// Whether it is known what became of it.
    var isDecided: Bool { reply != nil && (!awaitsCopies || isCopied != nil) }
  }

  /// A call, as it is named to people.
  struct Subject {
    let call: StaticString
    let key: FleetKey
    /// Other keys of the same upstream.
    var others: ArraySlice<FleetKey> = []
  }

  private let connection: RedisConnection
  private let timers: Timers
  private let settings: RedisSettings
  private var calls = Ring<Call>()
  private var nextNumber: UInt64 = 1
  /// Scripts that the server has been told in full on this connection.
  private var knownScripts: Set<FleetStepName> = []
  /// When it was asked last for a proof that answers are those of their calls, and how often.
  private var proved: MonotonicInstant
  private var proofs: UInt64 = 0
  /// The last call that has to be copied and is not waited for.
  private var uncopied: UInt64?
  /// Whether no call can have an outcome any more.
  private var isOver = false
  /// What the server refuses.
  private(set) var refusals: RedisRefusals
  /// Rings when one of them is over.
  private var refusalTimer: Timers.ID?
  /// Told of each refusal, and with nil that nothing of an upstream is refused any more.
  var onRefusal: (FleetPlace, RedisRefusals.Refusal?) -> Void = { _, _ in }

  /// Most bytes of a list that is answered.
  private static let listLimit = 64 << 20

  init(on connection: RedisConnection, timers: Timers, settings: RedisSettings) {
    self.connection = connection
    self.timers = timers
    self.settings = settings
    refusals = RedisRefusals(limit: settings.retryLimit)
    proved = timers.now
  }

  deinit { timers.cancel(refusalTimer) }

  /// Every call that has no outcome has none from now on.
  func end() {
    isOver = true
    timers.cancel(refusalTimer)
    while let call = calls.popFirst() { call.settle(nil) }
  }

  /// Asks something; `isList` for an array that may be long. `settle` is called once, later, with nil where there is no
  /// answer.
  func ask(
    about subject: Subject? = nil, isList: Bool = false, _ write: (inout RESPWriter) -> Void,
    _ settle: @escaping (Reply?) -> Void
  ) {
    enter(subject, isList: isList, mustLast: false, write, settle)
  }

  /// Runs a script: the first time in full, then by its digest.
  func run(
    _ name: FleetStepName, keys: [FleetKey], arguments: [[UInt8]], _ settle: @escaping (Reply?) -> Void
  ) {
    let isKnown = knownScripts.contains(name)
    knownScripts.insert(name)
    let mustLast = settings.copies > 0 && name.mustLast
    var subject: Subject?
    // Who gave an order is told that it was refused: this host goes on as before.
    if !name.isOrder { subject = keys.first.map { Subject(call: name.shown, key: $0, others: keys.dropFirst()) } }
    enter(subject, script: name, isList: name.repliesWithList, mustLast: mustLast) { writer in
      writer.write(isKnown ? "EVALSHA" : "EVAL") {
        $0.append(isKnown ? FleetScripts.digest(of: name) : FleetScripts.text(of: name))
        $0.append(keys.count)
        for key in keys { $0.append(key.text) }
        for argument in arguments { $0.append(argument) }
      }
    } _: {
      settle($0)
    }
    guard mustLast else { return }
    if uncopied == nil { timers.after(.zero) { [weak self] in self?.waitForCopies() } }
    uncopied = nextNumber - 1
  }

  private func enter(
    _ subject: Subject?, script: FleetStepName? = nil, isList: Bool, mustLast: Bool,
    _ write: (inout RESPWriter) -> Void, _ settle: @escaping (Reply?) -> Void
  ) {
    let number = nextNumber
    nextNumber += 1
    calls.append(Call(number: number, subject: subject, mustLast: mustLast, settle: settle))
    var elements: [FleetReply] = []
    var size = 0
    connection.ask(opening: isList ? 1 : 0, write) { [unowned self] nodes, bytes, isLast in
      if case .error(let range)? = nodes.first, elements.isEmpty {
        let error = RedisError(bytes.extracting(range))
        guard let script else { return answer(number, .error(error)) }
        return answer(number, .error(error.naming { FleetScripts.commands(of: script, line: $0) }))
      }
      var rest = nodes[...]
      guard let value = FleetReply(&rest, bytes) else { return .senseless("an empty value") }
      guard isList else { return answer(number, .value(value)) }
      if value != .array([]) {
        elements.append(value)
        size += bytes.byteCount
        guard size <= Self.listLimit else { return .senseless("a list without an end") }
      }
      return isLast ? answer(number, .value(.array(elements))) : nil
    }
    prove()
  }

  /// Where one answer is lost on its way, or comes twice, each one behind it is taken for that of another call, and
  /// many answers look alike. What somebody has put into Redis may look like a wrong answer, too. So the server is
  /// asked now and then for a word that no other answer has: where another one comes, the connection is worth nothing.
  private func prove() {
    let now = timers.now
    guard now - proved >= settings.proofPause else { return }
    proved = now
    proofs += 1
    let word = "proof-\(proofs)"
    connection.ask({ $0.write("PING") { $0.append(word) } }) { nodes, bytes, _ in
      guard case .bulk(let range)? = nodes.first,
        String(shortening: bytes.extracting(range), to: RedisError.limit) == word
      else { return Self.trouble(nodes, bytes, "the answer to another question") }
      return nil
    }
  }

  /// Why a question that is not one of the calls has no answer that will do.
  private static func trouble(_ nodes: [RESPNode], _ bytes: RawSpan, _ sentence: String) -> RedisTrouble {
    guard case .error(let range)? = nodes.first else { return .senseless(sentence) }
    let error = RedisError(bytes.extracting(range))
    switch error.meaning {
    case .wrongServer(let trouble): return trouble
    case .refused(.forbidden): return .forbidden(error.text)
    case .fenced, .passed, .refused, .unknownScript: return .senseless(sentence)
    }
  }

  // MARK: - Copies

  private func waitForCopies() {
    guard !isOver, let last = uncopied else { return }
    uncopied = nil
    connection.ask(
      {
        $0.write("WAIT") {
          $0.append(settings.copies)
          $0.append(settings.copyLimit.milliseconds)
        }
      },
      { [unowned self] nodes, bytes, _ in
        guard case .integer(let count)? = nodes.first else {
          return Self.trouble(nodes, bytes, "WAIT has another answer")
        }
        let isCopied = count >= Int64(settings.copies)
        var subjects: [Subject] = []
        for offset in 0..<calls.count {
          guard let call = calls[offset], call.number <= last else { break }
          guard call.mustLast, call.isCopied == nil else { continue }
          calls.update(offset) { $0.isCopied = isCopied }
          if let subject = call.subject, call.reply?.isError == false { subjects.append(subject) }
        }
        tellOutcomes()
        for subject in subjects {
          if isCopied {
            noteDone(subject, isCopied: true)
          } else {
            refuse(.copies(Int(count), of: settings.copies), subject)
          }
        }
        return nil
      })
  }

  // MARK: - Answers

  private func answer(_ number: UInt64, _ reply: Reply) -> RedisTrouble? {
    if case .error(let error) = reply {
      switch error.meaning {
      case .wrongServer(let trouble): return trouble
      // Sent again, it would be carried out behind what was sent after it.
      case .unknownScript: return .scriptsForgotten
      case .fenced, .passed, .refused: break
      }
    }
    guard let first = calls.look(0, { $0.number }), number >= first else { return .senseless("an answer twice") }
    let subject = calls.update(Int(number - first)) { call -> Subject? in
      call.reply = reply
      // Whether what must last was done is known when replicas have it.
      return !call.mustLast || reply.isError ? call.subject : nil
    }
    tellOutcomes()
    if let subject = subject ?? nil { note(reply, subject) }
    return nil
  }

  private func note(_ reply: Reply, _ subject: Subject) {
    switch reply {
    case .value: noteDone(subject)
    case .error(let error):
      switch error.meaning {
      case .refused: note(error, subject)
      // Its time is over: the caller does not ask for it again, and was let ask.
      case .fenced, .passed: noteDone(subject)
      case .unknownScript, .wrongServer: break
      }
    case .uncopied: break
    }
  }

  /// A call was refused.
  func note(_ error: RedisError, _ subject: Subject) { refuse(.error(error), subject) }

  private func refuse(_ cause: RedisRefusals.Cause, _ subject: Subject) {
    guard !isOver else { return }
    let refusal = refusals.note(cause, of: subject, at: timers.now)
    if refusalTimer == nil { expireLater() }
    onRefusal(subject.key.place, refusal)
  }

  private func expireLater() {
    guard !isOver, let end = refusals.nextEnd else { return }
    refusalTimer = timers.at(end) { [weak self] in self?.expire() }
  }

  private func expire() {
    refusalTimer = nil
    for place in refusals.expire(at: timers.now) { onRefusal(place, nil) }
    expireLater()
  }

  /// A call was carried out.
  /// - Parameter isCopied: as many replicas as are wanted have it.
  func noteDone(_ subject: Subject, isCopied: Bool = false) {
    if !isOver, refusals.noteDone(subject, isCopied: isCopied) { onRefusal(subject.key.place, nil) }
  }

  /// In their order, as far as outcomes are known.
  private func tellOutcomes() {
    while !isOver, calls.look(0, { $0.isDecided }) == true, let call = calls.popFirst() {
      call.settle(call.awaitsCopies && call.isCopied == false ? .uncopied : call.reply)
    }
  }
}

extension FleetStepName {
  /// As people read it.
  fileprivate var shown: StaticString {
    switch self {
    case .take: "TAKE"
    case .beat: "BEAT"
    case .move: "MOVE"
    case .release: "RELEASE"
    case .open: "OPEN"
    case .down: "DOWN"
    case .done: "DONE"
    case .adopt: "ADOPT"
    case .join: "JOIN"
    case .alive: "ALIVE"
    case .put: "PUT"
    case .find: "FIND"
    case .forget: "FORGET"
    }
  }
}

extension FleetReply {
  /// The next value of the nodes; nil where there is none. A word of the server is a text, and so is an error in an array.
  init?(_ nodes: inout ArraySlice<RESPNode>, _ bytes: RawSpan) {
    switch nodes.popFirst() {
    case nil: return nil
    case .null: self = .null
    case .integer(let value): self = .integer(value)
    case .simple(let range), .error(let range), .bulk(let range):
      self = .bytes(bytes.extracting(range).withUnsafeBytes { [UInt8]($0) })
    case .array(let count):
      var elements: [FleetReply] = []
      for _ in 0..<count {
        guard let element = FleetReply(&nodes, bytes) else { return nil }
        elements.append(element)
      }
      self = .array(elements)
    }
  }
}
