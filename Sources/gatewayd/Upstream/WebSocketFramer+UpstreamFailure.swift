import GatewayCore

extension WebSocketFramer.Ending {
  /// What this means for an upstream, in a sentence for a person.
  func failure(messageLimit: Int) -> UpstreamFailure {
    switch self {
    case .closed(let code, let reason):
      var detail = "the server closed the WebSocket"
      if let code { detail += " with code \(code)" }
      if !reason.isEmpty { detail += " (\(Self.printable(reason)))" }
      return UpstreamFailure(.closed, detail, status: code)
    case .tooLarge:
      return UpstreamFailure(.tooLarge, "the server sent a message of more than \(messageLimit) bytes")
    case .noMemory: return .noReceiveMemory
    case .invalidText:
      return UpstreamFailure(.protocolError, "the server sent text that is not valid UTF-8")
    case .invalidCompression:
      return UpstreamFailure(.protocolError, "the server sent a compressed message that cannot be decompressed")
    case .violation:
      return UpstreamFailure(.protocolError, "the server broke the rules of WebSocket frames")
    case .unreadAnswers(let limit): return .unreadAnswers(limit: limit)
    }
  }

  /// A close reason has at most 123 bytes; what could confuse a terminal or a log is replaced.
  private static func printable(_ reason: String) -> String {
    String(String.UnicodeScalarView(reason.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
  }
}
