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
    let lines = String(decoding: bytes[..<end], as: UTF8.self).split(
      separator: "\r\n", omittingEmptySubsequences: false)
    self = Self.read(lines[0], fields: lines[1...])
  }

  /// Where the empty line begins that ends a head.
  private static func end(of bytes: [UInt8], from start: Int) -> Int? {
    guard bytes.count >= 4 else { return nil }
    return (start...bytes.count - 4).first { bytes[$0..<$0 + 4].elementsEqual([13, 10, 13, 10]) }
  }

  private static func read(_ line: Substring, fields: ArraySlice<Substring>) -> Self {
    let words = line.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return .refused(.malformed) }
    guard words[0] == "GET" else { return .refused(.wrongMethod) }
    guard words[1].prefix(while: { $0 != "?" }) == "/metrics" else { return .refused(.unknownPath) }
    let knowsOpenMetrics = fields.contains {
      let field = $0.lowercased()
      return field.hasPrefix("accept:") && field.contains("application/openmetrics-text")
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
