import GatewayCore

/// Makes HTTP exchanges on the loop, over connections that they share.
final class CurlRequester: HTTPRequester {
  private let multi: CurlMulti
  private var exchanges: [ObjectIdentifier: CurlExchange] = [:]

  private var onQuiet: (() -> Void)?

  /// What the bodies of answers count as, while they come.
  private let memory: MemoryBudget

  init(multi: CurlMulti, memory: MemoryBudget = MemoryBudget()) {
    self.multi = multi
    self.memory = memory
  }

  private func ended(_ exchange: CurlExchange) {
    exchanges[ObjectIdentifier(exchange)] = nil
    multi.exchangeEnded()
    checkQuietLater()
  }

  /// Calls back once, later, when no exchange is under way any more.
  func whenQuiet(_ body: @escaping () -> Void) {
    onQuiet = body
    checkQuietLater()
  }

  /// What an exchange ends with may start the next one.
  private func checkQuietLater() {
    guard onQuiet != nil else { return }
    multi.loop.onNextTurn { [weak self] in
      guard let self, exchanges.isEmpty, let body = onQuiet else { return }
      onQuiet = nil
      body()
    }
  }

  /// How many are under way.
  var count: Int { exchanges.count }

  func start(
    _ request: HTTPRequest, _ done: @escaping (Result<HTTPResponse, UpstreamFailure>) -> Void
  ) -> any HTTPExchange {
    do throws(CurlProblem) {
      let exchange = try CurlExchange(multi, request, memory: memory, done: done) { [weak self] exchange in
        self?.ended(exchange)
      }
      exchanges[ObjectIdentifier(exchange)] = exchange
      return exchange
    } catch {
      return FailedExchange(multi.loop, error.failure(dialing: request.dial), done)
    }
  }
}

/// An exchange that could not even begin; it says so in the next turn.
private final class FailedExchange: HTTPExchange {
  private var done: ((Result<HTTPResponse, UpstreamFailure>) -> Void)?

  init(
    _ loop: EventLoop, _ failure: UpstreamFailure, _ done: @escaping (Result<HTTPResponse, UpstreamFailure>) -> Void
  ) {
    self.done = done
    loop.onNextTurn { [self] in self.done?(.failure(failure)) }
  }

  func cancel() { done = nil }
}
