/// What the end of a session means for programs and people.
enum WAMPFailure {
  /// ABORT. Before WELCOME it is a refusal, unless the router says that it is leaving.
  static func aborted(_ text: RawSpan, details: Range<Int>, reason: Range<Int>, isJoined: Bool) -> UpstreamFailure {
    let uri = JSONScanner.decodeString(text, reason, shortenedTo: 200).singleLine
    let message = WAMPDetails.words("message", in: text, details, limit: 500)
    let said = message.map { ": \($0)" } ?? ""
    if uri == "wamp.error.protocol_violation" {
      return UpstreamFailure(
        .protocolError, "the router ended the session, as it holds that we broke the protocol\(said)")
    }
    guard !isJoined, !uri.hasPrefix("wamp.close.") else {
      return UpstreamFailure(.closed, "the router ended the session (\(uri))\(said)")
    }
    return UpstreamFailure(
      .refused, "the router refused the session (\(uri))\(said)", serverMessage: message ?? uri,
      serverData: data(uri))
  }

  /// GOODBYE.
  static func goodbye(_ text: RawSpan, details: Range<Int>, reason: Range<Int>) -> UpstreamFailure {
    let uri = JSONScanner.decodeString(text, reason, shortenedTo: 200).singleLine
    let said = WAMPDetails.words("message", in: text, details, limit: 500).map { ": \($0)" } ?? ""
    switch uri {
    case "wamp.close.killed", "wamp.close.logout":
      return UpstreamFailure(.kicked, "the router ended this session (\(uri))\(said)")
    default: return UpstreamFailure(.closed, "the router closed the session (\(uri))\(said)")
    }
  }

  /// Whether another method of authentication could help after a refusal. Routers have many words for that.
  static func mayConcernOffer(_ failure: UpstreamFailure) -> Bool {
    failure.reason == .refused && failure.serverData != data("wamp.error.no_such_realm")
  }

  /// The reason as the server's own data.
  static func data(_ uri: String) -> [UInt8] {
    var writer = JSONWriter()
    writer.string(uri)
    return writer.bytes
  }
}
