import GatewayCore

/// What a client of the metrics' socket asked for, by the head of its one HTTP request (RFC 9112). Nothing else of
/// HTTP is spoken there. Decision 0110.
enum MetricsRequest: Equatable {
  case metrics(MetricsFormat)
  /// Answered with a status and a sentence.
  case refused(Refusal)

  enum Refusal: String, CaseIterable {
    case malformed = "400 Bad Request"
    case unknownPath = "404 Not Found"
    case wrongMethod = "405 Method Not Allowed"
    case headTooLong = "431 Request Header Fields Too Large"
  }

  /// Longest head, in bytes.
  static let headLimit = 8 << 10

  /// Nil until the head is complete. Only the `fresh` last bytes are looked at for that, so that a head in many pieces
  /// costs no more than one.
  init?(_ bytes: [UInt8], fresh: Int) {
    guard let end = Self.end(of: bytes, from: max(0, bytes.count - fresh - 3)) else {
      guard bytes.count >= Self.headLimit else { return nil }
      self = .refused(.headTooLong)
      return
    }
    let lines = bytes[..<end].split(separator: Self.newline, omittingEmptySubsequences: false).map {
      String(decoding: $0.last == Self.carriageReturn ? $0.dropLast() : $0, as: UTF8.self)
    }
    self = Self.read(lines[0], fields: lines[1...])
  }

  private static let newline = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")

  /// Where the last line of a head ends, which an empty one follows. A line may end with a bare LF (section 2.2).
  private static func end(of bytes: [UInt8], from start: Int) -> Int? {
    (start..<bytes.count).first { at in
      guard bytes[at] == newline else { return false }
      let rest = bytes[(at + 1)...]
      return rest.first == newline || rest.starts(with: [carriageReturn, newline])
    }
  }

  private static func read(_ line: String, fields: ArraySlice<String>) -> Self {
    let words = line.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return .refused(.malformed) }
    guard words[0] == "GET" else { return .refused(.wrongMethod) }
    guard words[1].prefix(while: { $0 != "?" }) == "/metrics" else { return .refused(.unknownPath) }
    let knowsOpenMetrics = fields.contains {
      let field = $0.lowercased()
      return field.hasPrefix("accept:") && field.contains(text: "application/openmetrics-text")
    }
    return .metrics(knowsOpenMetrics ? .openMetrics : .prometheus)
  }

  /// What stands before the body of an answer.
  static func head(_ status: String, _ contentType: String, length: Int) -> String {
    "HTTP/1.1 \(status)\r\nContent-Type: \(contentType)\r\nContent-Length: \(length)\r\n"
      + "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
  }
}

extension MetricsRequest.Refusal {
  /// The whole answer.
  var answer: [UInt8] {
    let sentence =
      switch self {
      case .malformed: "This is no HTTP request.\n"
      case .unknownPath: "The metrics are at /metrics.\n"
      case .wrongMethod: "The only method here is GET.\n"
      case .headTooLong: "The header may have \(MetricsRequest.headLimit) bytes.\n"
      }
    return Array(
      (MetricsRequest.head(rawValue, "text/plain; charset=utf-8", length: sentence.utf8.count) + sentence).utf8)
  }
}
