@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

/// A loop with a requester, and what its exchanges came to, in the order of their ends.
final class HTTPRequesting {
  let loop: EventLoop
  let multi: CurlMulti
  let requester: CurlRequester
  var results: [Result<HTTPResponse, UpstreamFailure>] = []

  init() throws {
    SystemEvents.takeSignals([])
    loop = try EventLoop()
    multi = CurlMulti(loop: loop, environment: { _ in nil })
    requester = CurlRequester(multi: multi)
  }

  static func request(
    _ dial: DialRequest, body: String? = nil, type: String? = nil, answerLimit: Duration = .seconds(30)
  ) -> HTTPRequest {
    HTTPRequest(dial, body: body.map { Array($0.utf8) }, contentType: type, answerLimit: answerLimit)
  }

  @discardableResult
  func start(_ request: HTTPRequest) -> any HTTPExchange {
    requester.start(request) { [unowned self] in results.append($0) }
  }

  /// Turns until so many exchanges are over.
  @discardableResult
  func run(until count: Int, within limit: Duration = .seconds(60)) throws -> Bool {
    let end = loop.time.now + limit
    while results.count < count {
      if loop.time.now > end { return false }
      try loop.turn(sleepingAtMost: .milliseconds(10))
    }
    return true
  }

  /// Makes one exchange and turns until it is over.
  func result(_ request: HTTPRequest) throws -> Result<HTTPResponse, UpstreamFailure> {
    let before = results.count
    start(request)
    #expect(results.count == before)
    try #require(try run(until: before + 1))
    return results[before]
  }

  func failure(_ request: HTTPRequest) throws -> UpstreamFailure? {
    guard case .failure(let failure) = try result(request) else { return nil }
    return failure
  }
}
