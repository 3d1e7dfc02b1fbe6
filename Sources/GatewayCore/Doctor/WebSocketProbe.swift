/// Opens one WebSocket, waits for the server's handshake, asks for a sign of life, and closes it.
final class WebSocketProbe: TransportReceiver, HTTPExchange {
  private let dialer: any TransportDialer
  private let timers: Timers
  private let time: any TimeSource
  private let limit: Duration
  private var transport: (any Transport)?
  private var timer: Timers.ID?
  private var askedAt: MonotonicInstant?
  private var done: ((Result<Duration?, TransportFailure>) -> Void)?

  init(dialer: any TransportDialer, timers: Timers, time: any TimeSource, limit: Duration) {
    self.dialer = dialer
    self.timers = timers
    self.time = time
    self.limit = limit
  }

  /// `done` is called once, later, with the round trip where one was measured.
  func start(_ request: DialRequest, _ done: @escaping (Result<Duration?, TransportFailure>) -> Void) {
    self.done = done
    transport = dialer.dial(request, receiver: self)
  }

  func cancel() {
    done = nil
    letGo()
  }

  func transportOpened(_ facts: TransportFacts, headers: [HTTPHeader]) {
    timer = timers.after(limit) { [weak self] in
      self?.end(
        .failure(TransportFailure(UpstreamFailure(.timeout, "it was opened, but the server sent no handshake in time")))
      )
    }
  }

  func transportReceived(text: RawSpan) {
    guard askedAt == nil else { return }
    guard text.byteCount > 1, JSONScanner.byte(text, 0) == UInt8(ascii: "0") else {
      return end(
        .failure(TransportFailure(UpstreamFailure(.protocolError, "what came over it is no Engine.IO handshake"))))
    }
    askedAt = time.now
    guard transport?.probe() == true else { return end(.success(nil)) }
    timers.cancel(timer)
    timer = timers.after(limit) { [weak self] in self?.end(.success(nil)) }
  }

  func transportReceived(binary: RawSpan) {}

  func transportAnsweredProbe() { end(.success(askedAt.map { time.now - $0 })) }

  func transportClosed(_ failure: TransportFailure) {
    transport = nil
    end(askedAt == nil ? .failure(failure) : .success(nil))
  }

  private func end(_ result: Result<Duration?, TransportFailure>) {
    let done = done
    self.done = nil
    letGo()
    done?(result)
  }

  private func letGo() {
    timers.cancel(timer)
    let transport = transport
    self.transport = nil
    transport?.close()
  }
}
