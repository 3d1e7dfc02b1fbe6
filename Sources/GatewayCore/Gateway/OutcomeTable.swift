/// What an outcome of a command means for the call, its key and the outbox. Without a text of its own, because every outcome
/// asks for it, and mostly for one member.
struct OutcomeMeaning {
  /// The answer to a call that waited for it; nil: a success.
  let error: LocalError.Kind?
  /// The state under which a repeated `key` is answered; nil where the send certainly never left, which frees the key,
  /// unless it had been taken before.
  let key: OutboxState?
  /// What the outbox says of it; nil where it never belonged there.
  let outbox: OutboxState?
  /// What the log says, where no call waited; nil for a success, and for what its sender wanted replaced.
  let log: StaticString?

  init(_ error: LocalError.Kind?, key: OutboxState?, _ outbox: OutboxState?, log: StaticString?) {
    self.error = error
    self.key = key
    self.outbox = outbox
    self.log = log
  }
}

extension CommandOutcome {
  /// The one table of outcomes. How `gatewayctl` ends follows from the error.
  var meaning: OutcomeMeaning {
    switch self {
    case .written: .init(nil, key: .sent, .sent, log: nil)
    case .acknowledged: .init(nil, key: .acked, .acked, log: nil)
    case .failed: .init(.requestFailed, key: .refused, .refused, log: "failed")
    case .down: .init(.upstreamDown, key: nil, .refused, log: "down")
    case .refused: .init(.upstreamRefused, key: nil, .refused, log: "refused")
    case .impossible(.tooLarge), .impossible(.tooLargeForFleet):
      .init(.payloadTooLarge, key: nil, .refused, log: "refused by the server's limits")
    case .impossible(.outdated):
      .init(.invalidParams, key: nil, .refused, log: "written for other settings of the upstream")
    case .impossible: .init(.invalidParams, key: nil, .refused, log: "refused by the server's limits")
    case .expired: .init(.expired, key: nil, .expired, log: "expired")
    case .replaced: .init(.cancelled, key: nil, .dropped, log: nil)
    case .notStored: .init(.internalError, key: nil, nil, log: "not stored")
    case .denied: .init(.permissionDenied, key: nil, nil, log: "its sender has lost the right to send")
    case .acknowledgementTimeout: .init(.ackTimeout, key: .lost, .lost, log: "lost")
    case .acknowledgementLost: .init(.ackLost, key: .lost, .lost, log: "lost")
    }
  }

  /// The state under which a repeated `key` of a command is answered; nil frees the key. What was taken ends for good;
  /// what certainly never left while its caller waited may be tried again.
  func keyState(of command: Command) -> String? {
    if let key = meaning.key { return key.rawValue }
    if case .notStored = self { return nil }
    return command.isTaken ? (meaning.outbox ?? .refused).rawValue : nil
  }

  /// Why it is so, in a word for programs that look at the outbox; nil where the state says it all.
  var reason: String? {
    switch self {
    case .failed(let error): error.name.shortened(to: 200)
    case .down(let failure), .refused(let failure), .acknowledgementLost(let failure): failure.reason.rawValue
    case .impossible(let problem): problem.word
    case .replaced: OutboxEntry.coalesced
    case .acknowledgementTimeout: "ack_timeout"
    case .written, .acknowledged, .expired, .notStored, .denied: nil
    }
  }

  /// What the log says of it, with what is known of the cause.
  var logText: String? {
    switch self {
    case .written, .acknowledged: nil
    case .down(let failure): logText(failure.detail)
    case .failed(let error): logText(error.name)
    case .notStored(let problem): logText(problem.message)
    case .refused, .impossible, .expired, .denied, .replaced, .acknowledgementTimeout, .acknowledgementLost:
      meaning.log?.description
    }
  }

  private func logText(_ cause: String) -> String? { meaning.log.map { "\($0): \(cause)" } }
}

extension LocalError {
  /// The answer to a call that waited for an outcome that is no success.
  init(_ outcome: CommandOutcome, on connection: Connection) {
    switch outcome {
    case .down(let failure): self.init(down: failure)
    case .refused(let failure): self.init(refused: failure, by: connection.specification)
    case .impossible(let problem): self.init(problem)
    case .expired:
      self.init(
        .expired, "The send's time-to-live ended before it could be written: it was not sent\(Self.why(connection)).")
    case .failed(let error): self.init(error, limit: connection.lineLimit)
    case .acknowledgementTimeout:
      self.init(
        .ackTimeout,
        "\(Self.writing(connection)), but it was not acknowledged in time: whether it arrived is unknown.")
    case .acknowledgementLost(let failure):
      self.init(
        .ackLost,
        "\(Self.writing(connection)), but the link broke before the acknowledgement: whether it arrived is unknown.",
        [.init("reason", .string(failure.reason.rawValue)), .init("detail", .string(failure.detail))])
    case .notStored(let problem): self.init(outbox: problem)
    case .denied: self = .denied(.send, on: nil, by: nil)
    case .replaced:
      self.init(
        .cancelled, "A newer send with the same `coalesce` took its place in the queue: it was not sent.",
        [.init("reason", .string(OutboxEntry.coalesced))])
    case .written, .acknowledged:
      self.init(.internalError, "A success was taken for an error on \(connection.id).")
    }
  }

  /// What is known of a send that was under way: a fleet may have lost it before it was written.
  private static func writing(_ connection: Connection) -> String {
    connection.specification.settings.fleet ? "It was given to the fleet" : "It was written"
  }

  /// Why a connection is down, in brackets; nothing while it is connected.
  private static func why(_ connection: Connection) -> String {
    guard connection.state != .connected, let failure = connection.lastFailure else { return "" }
    return " (the upstream is down: \(failure.detail))"
  }
}
