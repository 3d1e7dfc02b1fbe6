/// How long a server wants to be left alone: the header `Retry-After`, RFC 9110 section 10.2.3.
enum RetryAfter {
  /// Longest time that a server is obeyed for; a longer one counts as this.
  static let limit: Duration = .seconds(3_600)

  /// Nil unless the status says that the server is overloaded and a header says for how long. `now` is the wall clock in
  /// milliseconds since 1970, for servers that name a date.
  static func duration(_ status: Int?, _ headers: [HTTPHeader], now: Int64) -> Duration? {
    guard status == 503 || status == 429, let text = headers.first(where: { $0.name == "retry-after" })?.value else {
      return nil
    }
    if !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) {
      return min(limit, .seconds(Int64(text) ?? 3_600))
    }
    guard let date = HTTPDate.seconds(text) else { return nil }
    return min(limit, max(.zero, .milliseconds(date &* 1_000 &- now)))
  }
}
