import GatewayCore

/// What the daemon answers to a `--key` that it has seen before: what became of the first send with it.
struct EarlierSend: Equatable {
  let id: String
  /// As `send` names it.
  let state: String

  /// Nil: this is the first send with its key, or it has none.
  init?(_ answer: RawMembers) {
    guard answer["duplicate"] == Array("true".utf8) else { return nil }
    id = answer.string("id") ?? "?"
    state = answer.string("state") ?? "unknown"
  }

  /// Why the first send is no success; nil: it is, or still may become one.
  var failure: Failure? {
    let (code, meaning): (ExitCode, String)
    switch state {
    case "lost": (code, meaning) = (.dataLost, "was not acknowledged: whether the server has it is unknown")
    case "expired": (code, meaning) = (.timedOut, "waited too long and was given up")
    case "refused": (code, meaning) = (.upstreamRefused, "was refused")
    case "cancelled", "dropped": (code, meaning) = (.refusedByDaemon, "was \(state)")
    default: return nil
    }
    return Failure(
      code, "the send with this key, \(id), \(meaning); send it with another key if it is to be sent again")
  }

  /// A request has no answer the second time: the daemon does not keep what servers answer.
  var failureOfRequest: Failure {
    failure
      ?? Failure(
        .refusedByDaemon,
        "this key was used before, and answers are not kept: request \(id) is '\(state)'; use another key to ask again")
  }
}
