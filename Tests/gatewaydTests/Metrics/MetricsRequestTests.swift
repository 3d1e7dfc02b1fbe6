import Testing

@testable import gatewayd

struct MetricsRequestTests {
  private static let get = "GET /metrics HTTP/1.1\r\nHost: x\r\n"

  @Test(arguments: [
    (get + "\r\n", MetricsRequest.metrics(.prometheus)),
    ("GET /metrics?a=b HTTP/1.0\r\n\r\n", .metrics(.prometheus)),
    (get + "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n\r\n", .metrics(.openMetrics)),
    (get + "ACCEPT: text/plain, Application/OpenMetrics-Text\r\n\r\n", .metrics(.openMetrics)),
    (get + "X-Accept: application/openmetrics-text\r\n\r\n", .metrics(.prometheus)),
    ("GET / HTTP/1.1\r\n\r\n", .refused(.unknownPath)), ("GET /metricsx HTTP/1.1\r\n\r\n", .refused(.unknownPath)),
    ("GET /metrics HTTP/1.1\n\n", .metrics(.prometheus)), ("\r\n\r\n", .refused(.malformed)),
    ("GET /metrics HTTP/1.1\nAccept: application/openmetrics-text\n\n", .metrics(.openMetrics)),
    ("GET /metrics HTTP/1.1\nHost: x\r\n\n", .metrics(.prometheus)),
    ("POST /metrics HTTP/1.1\r\n\r\n", .refused(.wrongMethod)),
    ("\u{16}\u{3}\u{1} hello\r\n\r\n", .refused(.malformed)), ("GET /metrics\r\n\r\n", .refused(.malformed)),
    ("GET  /metrics HTTP/1.1\r\n\r\n", .refused(.malformed)),
  ])
  func aCompleteHeadIsARequest(_ text: String, _ request: MetricsRequest) {
    let bytes = Array(text.utf8)
    #expect(MetricsRequest(bytes, fresh: bytes.count) == request)
    // Cut anywhere, it is not complete, and with each byte in a piece of its own it is the same.
    for count in 1..<bytes.count { #expect(MetricsRequest(Array(bytes.prefix(count)), fresh: 1) == nil) }
    #expect(MetricsRequest(bytes, fresh: 1) == request)
  }

  @Test func aHeadWithoutEndIsRefusedAtItsLimit() {
    let long = Array((Self.get + String(repeating: "x", count: MetricsRequest.headLimit)).utf8)
    let limit = MetricsRequest.headLimit
    #expect(MetricsRequest(Array(long.prefix(limit - 1)), fresh: limit - 1) == nil)
    #expect(MetricsRequest(Array(long.prefix(limit)), fresh: 1) == .refused(.headTooLong))
  }

  @Test(arguments: MetricsRequest.Refusal.allCases)
  func aRefusalIsAWholeAnswer(_ refusal: MetricsRequest.Refusal) throws {
    let parts = String(decoding: refusal.answer, as: UTF8.self).split(separator: "\r\n\r\n", maxSplits: 1)
    #expect(parts.count == 2 && parts[0].hasPrefix("HTTP/1.1 \(refusal.rawValue)\r\n"))
    #expect(parts[0].contains("Content-Length: \(parts[1].utf8.count)\r\n"))
  }
}
