import GatewayCore

/// One HTTP exchange by libcurl, which keeps connections open for the next ones to the same server.
final class CurlExchange: HTTPExchange {
  /// Largest head of a response, in bytes; the same as of the answer that opens a WebSocket.
  static let headLimit = WebSocketUpgrade.headLimit

  private let request: HTTPRequest
  /// What the answer counts as.
  private let memory: MemoryHold
  private let timers: Timers
  /// Runs from the first byte of the body to its end.
  private var bodyTimer: Timers.ID?
  private var easy: CurlEasy?
  private var done: ((Result<HTTPResponse, UpstreamFailure>) -> Void)?
  /// Lets go of this object: called once, when the exchange is over.
  private let onOver: (CurlExchange) -> Void
  private var head: [UInt8] = []
  /// Bytes of all heads, those of preliminary answers among them, and of the trailers behind the body.
  private var headCount = 0
  private var body: [UInt8] = []
  /// Bytes of the body that came.
  private var received = 0
  /// How many of them are kept; nil before the first.
  private var keptLimit: Int?
  private var tlsVersion: String?
  private var proxy: String?
  /// What made us stop the exchange.
  private var stopped: UpstreamFailure?
  private var wasReady = false

  /// Starts it; `done` is called once, later, unless it is cancelled before.
  init(
    _ multi: CurlMulti, _ request: HTTPRequest, memory: MemoryBudget,
    done: @escaping (Result<HTTPResponse, UpstreamFailure>) -> Void,
    onOver: @escaping (CurlExchange) -> Void
  ) throws(CurlProblem) {
    self.request = request
    self.memory = MemoryHold(memory, for: request.dial.account)
    timers = multi.loop.timers
    self.done = done
    self.onOver = onOver
    let easy = try CurlEasy(multi)
    self.easy = easy
    try configure(easy)
    easy.onDone = { [unowned self] problem in finish(problem) }
    if let limit = request.writeLimit { easy.mayWrite(until: limit) }
    try easy.start(CurlEasy.Limits(connecting: request.dial.phaseLimit, answer: request.answerLimit))
  }

  func cancel() { end() }

  func mayWrite(until limit: MonotonicInstant) { easy?.mayWrite(until: limit) }

  // MARK: - The request

  private func configure(_ easy: CurlEasy) throws(CurlProblem) {
    try easy.configure(request.dial)
    proxy = easy.proxy
    try easy.set(.target, request.dial.target)
    try easy.set(.headers, headerLines)
    // What is no HTTP is told by its first bytes.
    try easy.set(.oldHTTP, 1)
    if let body = request.body {
      if request.writeLimit == nil {
        try easy.set(body: body)
      } else {
        try easy.set(handedOut: body, in: request.dial.secure ? CurlBody.recordLimit : CurlBody.pieceLimit)
      }
    }
    if request.isAlone {
      try easy.set(.freshConnection, 1)
      try easy.set(.forbidsReuse, 1)
    }
    try easy.listenToExchange()
    easy.onReady = { [unowned self] in ready() }
    easy.onHeader = { [unowned self] in receive(headerLine: $0) }
    easy.onBody = { [unowned self] in receive(body: $0) }
  }

  /// An empty value needs a semicolon, and a name with nothing behind its colon is a header that is not sent.
  private var headerLines: [String] {
    var lines = ["Host: \(request.dial.authority)", "Expect:"]
    if request.body != nil { lines.append(request.contentType.map { "Content-Type: \($0)" } ?? "Content-Type:") }
    for header in request.dial.headers {
      lines.append(header.value.isEmpty ? "\(header.name);" : "\(header.name): \(header.value)")
    }
    if !request.dial.headers.contains(where: { $0.name.lowercased() == "user-agent" }) {
      lines.append("User-Agent: \(HTTPHeader.defaultUserAgent)")
    }
    return lines
  }

  /// When a connection that was used before ends without an answer, libcurl would write the request again on another
  /// one. The server may have taken it, and the same packets must not arrive twice.
  private func ready() -> CurlEasy.Consent {
    guard wasReady else {
      wasReady = true
      return .goOn
    }
    return stop(UpstreamFailure(.closed, "the server closed the connection before it answered the HTTP request"))
  }

  // MARK: - The response

  private func receive(headerLine line: UnsafeRawBufferPointer) -> CurlEasy.Consent {
    // After the body come trailers, which no kind needs.
    let isTrailer = received > 0
    if !isTrailer, line.starts(with: "HTTP/".utf8) {
      head = []
      tlsVersion = easy?.tlsVersion
    }
    headCount += line.count
    guard headCount <= Self.headLimit else {
      return stop(UpstreamFailure(.protocolError, "the server's HTTP header is longer than 16 KiB"))
    }
    if !isTrailer { head += line }
    return .goOn
  }

  /// A body counts from its first long piece on as what it may become.
  private static let growth = BufferGrowth(longFrom: FrameReader.longMessage, hugeFrom: FrameReader.longMessage)

  private func receive(body piece: UnsafeRawBufferPointer) -> CurlEasy.Consent {
    guard !head.isEmpty else { return stop(.foreignAnswer(piece.bytes, to: request.dial)) }
    received += piece.count
    guard received <= request.dial.messageLimit else {
      let limit = request.dial.messageLimit
      return stop(UpstreamFailure(.tooLarge, "the server's answer is larger than \(limit) bytes"))
    }
    let kept = keptLimit ?? decideKeptLimit()
    let wanted = piece.prefix(max(0, kept - body.count))
    guard memory.change(to: body.count + wanted.count) else { return stop(.noReceiveMemory) }
    if bodyTimer == nil { startBodyTimer() }
    if let room = Self.growth.capacity(for: body.count + wanted.count, over: body.capacity, limit: kept) {
      body.reserveCapacity(room)
    }
    body += wanted
    return .goOn
  }

  private func startBodyTimer() {
    bodyTimer = timers.after(request.dial.messageTimeLimit) { [weak self] in
      guard let self else { return }
      stopped = .unfinishedMessage(after: request.dial.messageTimeLimit)
      finish(nil)
    }
  }

  /// What an answer says is kept, of a refusal the beginning.
  private func decideKeptLimit() -> Int {
    let response = try? HTTPResponse(head: head, body: [], tlsVersion: nil, proxy: nil)
    let kept = min(request.keptLimit, response?.status == 200 ? .max : HTTPResponse.refusalLimit)
    keptLimit = kept
    return kept
  }

  private func stop(_ failure: UpstreamFailure) -> CurlEasy.Consent {
    stopped = failure
    return .stop
  }

  // MARK: - The end

  private func finish(_ problem: CurlProblem?) {
    let done = done
    let result = result(problem)
    end()
    done?(result)
  }

  private func result(_ problem: CurlProblem?) -> Result<HTTPResponse, UpstreamFailure> {
    if let stopped { return .failure(stopped) }
    if let problem { return .failure(problem.failure(dialing: request.dial)) }
    return Result { () throws(UpstreamFailure) in
      try HTTPResponse(head: head, body: body, tlsVersion: tlsVersion, proxy: proxy)
    }
  }

  private func end() {
    timers.cancel(bodyTimer)
    done = nil
    // What the kernel has would leave when it may not.
    if easy?.isPastLimit == true { easy?.reset() }
    easy = nil
    onOver(self)
  }
}
