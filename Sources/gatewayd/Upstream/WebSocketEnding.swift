import GatewayCore

/// Why no further message of a WebSocket will be read.
enum WebSocketEnding: Equatable {
  /// The peer's close frame: its code, nil when it has none, and its reason.
  case closed(code: Int?, reason: String)
  /// A message beyond the limit; 1009 was queued.
  case tooLarge
  /// A message that cannot be gathered; 1009 was queued.
  case noMemory
  /// Text that is not UTF-8; 1007 was queued.
  case invalidText
  /// A compressed message that cannot be inflated; 1007 was queued.
  case invalidCompression
  /// A frame against the rules; 1002 was queued.
  case violation
  /// The peer asks for answers, of which it leaves more than this many bytes unread.
  case unreadAnswers(limit: Int)

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
