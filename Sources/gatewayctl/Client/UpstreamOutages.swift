import GatewayCore

/// What to do where words of the command line, or the URL, are likely to be what is wrong.
enum OutageAdvice: String {
  case certificate = "--cacert FILE names the authority to trust, if it is one of your own"
  /// Only perhaps: a server of Socket.IO may hang.
  case plainWebSocket = "for a plain WebSocket write raw+ws:// in the URL, with TLS raw+wss://"

  /// `reason` and `detail` are the daemon's.
  /// - Parameter isURL: the user has chosen the server by its URL, and may say more of it.
  static func of(_ reason: String?, _ detail: String?, isURL: Bool) -> OutageAdvice? {
    guard let reason, let detail else { return nil }
    if isURL, reason == "tls", detail.contains(text: "the certificate of ") { return .certificate }
    return signsOfPlainWebSocket.contains { detail.contains(text: $0) } ? .plainWebSocket : nil
  }

  /// What the daemon says of a WebSocket whose server speaks first, and of one whose server waits.
  private static let signsOfPlainWebSocket = [
    "it may be a WebSocket server of another kind", "the server sent no Engine.IO handshake in time",
  ]
}

/// Puts the states of an upstream's connection into words, and knows which of them a script has to be warned of: each
/// reason for which the upstream is down, once, and then that it is up again.
struct UpstreamOutages {
  struct Sentence: Equatable {
    let text: String
    /// Whether it was not said since the upstream was up.
    let isNew: Bool
  }

  /// The reasons that were told since the upstream was up.
  private var told: Set<String> = []

  /// `members` are those of a `state` notification, or of the member `upstream` of an answer.
  mutating func note(_ members: RawJSONObject, of target: Target) -> Sentence? {
    guard let state = members.string("state") else { return nil }
    let reason = members.string("reason")
    let detail = members.string("detail")
    let why = if let reason, let detail { "\(reason), \(detail)" } else { reason ?? detail ?? "" }
    let next = members.integer("in").flatMap { Int64($0) }.map {
      $0 > 0 ? "; next attempt in \(DurationText.describe(milliseconds: $0))" : "; next attempt now"
    }
    // The first attempt has a state of its own, whose name says little to a person.
    let word = state == "created" ? "connecting" : state
    let advice = OutageAdvice.of(reason, detail, isURL: target.isURL)
    let text =
      "\(target.shown) is \(word)\(why.isEmpty ? "" : ": \(why)")\(advice.map { "; \($0.rawValue)" } ?? "")\(next ?? "")"
    return Sentence(text: text, isNew: isNews(state, reason))
  }

  private mutating func isNews(_ state: String, _ reason: String?) -> Bool {
    if state == "connected" {
      defer { told = [] }
      return !told.isEmpty
    }
    // A connection that was closed because it was not used comes back by being used.
    guard let reason, reason != "idle" else { return false }
    return told.insert(reason).inserted
  }
}
