@testable import GatewayCore

/// Hands every HTTP request to the test, which answers when it likes.
final class FakeRequester: HTTPRequester {
  final class Exchange: HTTPExchange {
    let request: HTTPRequest
    private var done: ((Result<HTTPResponse, UpstreamFailure>) -> Void)?
    private(set) var isCancelled = false
    /// Up to when it may be written, as it was told last.
    private(set) var writeLimit: MonotonicInstant?

    init(_ request: HTTPRequest, _ done: @escaping (Result<HTTPResponse, UpstreamFailure>) -> Void) {
      self.request = request
      self.done = done
      writeLimit = request.writeLimit
    }

    var isPending: Bool { done != nil }
    var isPost: Bool { request.body != nil }
    var body: String { String(decoding: request.body ?? [], as: UTF8.self) }

    func cancel() {
      isCancelled = true
      done = nil
    }

    func mayWrite(until limit: MonotonicInstant) { writeLimit = limit }

    func finish(_ result: Result<HTTPResponse, UpstreamFailure>) {
      let done = done
      self.done = nil
      done?(result)
    }

    func answer(
      _ body: String, status: Int = 200, type: String = "text/plain; charset=UTF-8", _ more: [HTTPHeader] = []
    ) {
      answer([UInt8](body.utf8), status: status, type: type, more)
    }

    func answer(_ body: [UInt8], status: Int = 200, type: String, _ more: [HTTPHeader] = []) {
      let headers = [HTTPHeader(name: "content-type", value: type)] + more
      finish(.success(HTTPResponse(status: status, headers: headers, body: body)))
    }

    func fail(_ failure: UpstreamFailure) { finish(.failure(failure)) }
  }

  private(set) var all: [Exchange] = []

  func start(
    _ request: HTTPRequest, _ done: @escaping (Result<HTTPResponse, UpstreamFailure>) -> Void
  ) -> any HTTPExchange {
    let exchange = Exchange(request, done)
    all.append(exchange)
    return exchange
  }

  /// What is under way; never more than one of each when all is well.
  var gets: [Exchange] { all.filter { $0.isPending && !$0.isPost } }
  var posts: [Exchange] { all.filter { $0.isPending && $0.isPost } }
  /// The one that is under way; one that never was stands in, so that a test fails by its expectations.
  var get: Exchange { gets.last ?? Self.none }
  var post: Exchange { posts.last ?? Self.none }

  static var none: Exchange {
    Exchange(HTTPRequest(FakeTransport.none.request, answerLimit: .zero)) { _ in }
  }
}
