/// The message of one local client that comes in parts: how much of it is there counts among the lines that have begun
/// and not ended, and it is waited for as long as for a message from its upstream. One at a time: the first part of
/// another one takes its place.
final class IncomingParts {
  private enum State {
    /// Becomes `gathering` with a first part.
    case none
    /// Becomes `none` with the last part or when it is taken back, and `failed`.
    case gathering(MessageAssembly)
    /// What the last part is answered. Becomes `none` with it, and `gathering` with the first part of another message.
    case failed(RequestID, LocalError)
  }

  private var state = State.none
  private var memory: MemoryHold?
  private var timer: Timers.ID?
  private let timers: Timers

  init(timers: Timers) { self.timers = timers }

  deinit { timers.cancel(timer) }

  /// Part of a message is there and the rest is not.
  var isUnderWay: Bool { if case .gathering = state { true } else { false } }

  /// What may be had by this message, and how long it may take.
  struct Bounds {
    var sizeLimit: Int
    var timeLimit: Duration
    var memory: MemoryBudget
    var account: Account
  }

  /// Takes a part. Returns the message when it is complete. What is thrown is also what the last part is answered.
  ///
  /// - Parameter bounds: what applies to the message that the part begins, once its caller may send it.
  func take(
    _ part: MessagePart, bounds: () throws(LocalError) -> Bounds
  ) throws(LocalError) -> MessageAssembly.Message? {
    if part.place == 0 { clear() }
    do throws(LocalError) {
      if part.place == 0 { try begin(part, try bounds()) }
      return try add(part)
    } catch {
      // Of another message than the one that is under way: that is not disturbed.
      if part.isLast { finish(part.id) } else if case .none = state { fail(part.id, error) }
      throw error
    }
  }

  /// Forgets the message with this id.
  func cancel(_ id: RequestID) { finish(id) }

  /// Gives back everything.
  func clear() {
    state = .none
    release()
  }

  private func begin(_ part: MessagePart, _ bounds: Bounds) throws(LocalError) {
    guard part.total <= bounds.sizeLimit else { throw .partsTooLarge(part.total, limit: bounds.sizeLimit) }
    let memory = MemoryHold(bounds.memory, for: bounds.account)
    guard part.total <= memory.share else { throw .partsBeyondMemory(part.total, limit: memory.share) }
    self.memory = memory
    state = .gathering(MessageAssembly(first: part))
    timer = timers.after(bounds.timeLimit) { [weak self] in
      self?.timer = nil
      self?.fail(part.id, .partsTooLate(bounds.timeLimit))
    }
  }

  private func add(_ part: MessagePart) throws(LocalError) -> MessageAssembly.Message? {
    switch state {
    case .failed(part.id, let error): throw error
    case .gathering(let assembly) where assembly.id == part.id:
      do throws(SharedBounds.Overrun) { try memory?.take(assembly.count(with: part)) } catch {
        throw failed(part.id, .noMemoryForParts(error, of: memory?.bounds))
      }
      do throws(MessageAssembly.Problem) {
        let message = try assembly.append(part)
        if message != nil { clear() }
        return message
      } catch {
        throw failed(part.id, .wrongPart(part, error))
      }
    case .none, .gathering, .failed: throw .missingParts(part)
    }
  }

  private func fail(_ id: RequestID, _ error: LocalError) { _ = failed(id, error) }

  private func failed(_ id: RequestID, _ error: LocalError) -> LocalError {
    state = .failed(id, error)
    release()
    return error
  }

  private func finish(_ id: RequestID) {
    switch state {
    case .gathering(let assembly) where assembly.id == id: clear()
    case .failed(id, _): clear()
    case .none, .gathering, .failed: break
    }
  }

  private func release() {
    memory = nil
    timers.cancel(timer)
    timer = nil
  }
}

/// What the last part of a message is answered that did not come whole.
extension LocalError {
  fileprivate static func partsTooLarge(_ size: Int, limit: Int) -> LocalError {
    LocalError(
      .payloadTooLarge,
      "The arguments have \(size) bytes, and those that come in parts may have \(limit) here (`message_limit`, and what its kind takes).",
      [.init("limit", .integer(limit)), .init("size", .integer(size))])
  }

  fileprivate static func partsBeyondMemory(_ size: Int, limit: Int) -> LocalError {
    LocalError(
      .payloadTooLarge,
      "The arguments have \(size) bytes, and one user may have \(limit) in messages that have not ended (half of `limits.receive_bytes`); make them smaller, or raise that setting.",
      [.init("limit", .integer(limit)), .init("size", .integer(size))])
  }

  fileprivate static func partsTooLate(_ limit: Duration) -> LocalError {
    LocalError(
      .expired,
      "The message began and did not end within \(limit.milliseconds) ms (`message_timeout`); none of it was sent.")
  }

  fileprivate static func noMemoryForParts(_ overrun: SharedBounds.Overrun, of bounds: SharedBounds?) -> LocalError {
    LocalError(
      .quotaExceeded,
      "There is no memory for the rest of this message beside \(overrun.words("bytes")) in lines and messages that have not ended (`limits.receive_bytes`); none of it was sent.",
      [.init("quota", .string("receive_bytes"))] + (bounds.map { overrun.facts(of: $0) } ?? []))
  }

  fileprivate static func missingParts(_ part: MessagePart) -> LocalError {
    .invalid(
      ParameterName.part.text,
      "The \(part.place) bytes before this part are not here: another message took their place, or an earlier part was not understood."
    )
  }

  fileprivate static func wrongPart(_ part: MessagePart, _ problem: MessageAssembly.Problem) -> LocalError {
    if case .binaryTooLong(let size) = problem {
      return LocalError(
        .payloadTooLarge,
        "The arguments have \(size) bytes; with binary values (`$bin`) they may have \(MessageAssembly.binaryLimit) where they come in parts. Send smaller pieces, or raise `limits.line` above their length.",
        [.init("limit", .integer(MessageAssembly.binaryLimit)), .init("size", .integer(size))])
    }
    let sentence =
      switch problem {
      case .outOfOrder(let expected):
        "A part begins at byte \(part.place) of the message, and the next one begins at \(expected)."
      case .otherLength(let total): "A part says that the message has \(part.total) bytes, and the first said \(total)."
      case .binaryTooLong, .noArray: "The text of the parts is no JSON array."
      case .malformed(let error): "The text of the parts is not valid JSON at byte \(error.offset)."
      }
    return .invalid(ParameterName.part.text, sentence)
  }
}
