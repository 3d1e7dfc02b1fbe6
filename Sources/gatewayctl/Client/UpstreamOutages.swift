import GatewayCore

/// What to do where a server's certificate is not accepted and the user has chosen the server by its URL.
enum CertificateAdvice {
  /// `reason` and `detail` are the daemon's.
  static func of(_ reason: String?, _ detail: String?, isURL: Bool) -> String? {
    guard isURL, reason == "tls", detail?.contains(text: "the certificate of ") == true else { return nil }
    return "--cacert FILE names the authority to trust, if it is one of your own"
  }
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
  mutating func note(_ members: RawJSONObject, of upstream: String) -> Sentence? {
    guard let state = members.string("state") else { return nil }
    let reason = members.string("reason")
    let detail = members.string("detail")
    let why = if let reason, let detail { "\(reason), \(detail)" } else { reason ?? detail ?? "" }
    let next = members.integer("in").flatMap { Int64($0) }.map {
      $0 > 0 ? "; next attempt in \(DurationText.describe(milliseconds: $0))" : "; next attempt now"
    }
    // The first attempt has a state of its own, whose name says little to a person.
    let word = state == "created" ? "connecting" : state
    let advice = CertificateAdvice.of(reason, detail, isURL: upstream.contains(text: "://"))
    let text =
      "\(upstream) is \(word)\(why.isEmpty ? "" : ": \(why)")\(advice.map { "; \($0)" } ?? "")\(next ?? "")"
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
