/// The HTTP path and the revision of Engine.IO.
extension Doctor {
  /// A request of long-polling. Each goes over a connection of its own, so that a balancer may choose anew.
  func pollingRequest(_ revision: EngineIORevision, sid: String? = nil) -> DialRequest {
    var request = dial
    var query = "EIO=\(revision.rawValue)&transport=polling"
    if revision == .three { query += "&b64=1" }
    if let sid { query += "&sid=" + PercentEncoding.component(sid) }
    let own = request.target.split(separator: "&").dropFirst(2).map { "&" + $0 }.joined()
    request.target = request.target.prefix { $0 != "?" } + "?" + query + own
    request.headers.append(HTTPHeader(name: "Connection", value: "close"))
    return request
  }

  /// Sends one request, and keeps the time of its answer.
  func ask(
    _ dial: DialRequest, body: String? = nil, _ done: @escaping (Doctor, Result<HTTPResponse, UpstreamFailure>) -> Void
  ) {
    let request = HTTPRequest(
      dial, body: body.map { Array($0.utf8) }, contentType: body.map { _ in "text/plain;charset=UTF-8" },
      answerLimit: dial.phaseLimit, isAlone: true, keptLimit: HTTPResponse.refusalLimit)
    let began = time.now
    hold(
      seams.requester.start(request) { [weak self] result in
        guard let self else { return }
        if case .success = result { noteRoundTrip(time.now - began) }
        done(self, result)
      })
  }

  // MARK: - The path

  /// The step `http`: is there an Engine.IO server at the path, and of which revision?
  func lookAtHTTP() {
    begin(.http)
    open(.four)
  }

  private func open(_ revision: EngineIORevision) {
    let request = pollingRequest(revision)
    ask(request) { doctor, result in
      switch result {
      case .success(let response): doctor.answered(response, to: request, revision)
      case .failure(let failure): doctor.unanswered(failure)
      }
    }
  }

  private func unanswered(_ failure: UpstreamFailure) {
    let seen = failure.detail.prefix(1).uppercased() + failure.detail.dropFirst() + "."
    switch failure.reason {
    case .tls:
      find(.failed, "http.tls", seen, "Encryption is spoken on port \(dial.port): use https:// or wss://.")
    case .timeout:
      find(
        .failed, "http.slow", seen,
        "The server takes the request, but does not answer in time: it hangs, or is overloaded. Look into its log.")
    case .closed, .unreachable:
      find(
        .failed, "http.closed", seen,
        "What listens on port \(dial.port) hangs up on HTTP: check the port, and whether it wants https:// instead.")
    case .tooLarge:
      find(.failed, "http.unexpected", seen, "What listens there is no Socket.IO server: check host, port and `path`.")
    case .idle, .requested, .offline, .http, .incompatible, .refused, .kicked, .heartbeat, .protocolError, .auth,
      .draining:
      find(.failed, "http.foreign", seen, "What listens on port \(dial.port) speaks another protocol: check the port.")
    }
    finish()
  }

  private func answered(_ response: HTTPResponse, to request: DialRequest, _ revision: EngineIORevision) {
    let path = request.target.prefix { $0 != "?" }
    let reading = HTTPReading(response, to: request)
    if step == .http {
      if case .problem(let code, let seen, let advice) = reading {
        find(.failed, code, seen, advice)
        return finish()
      }
      find(.ok, "http.ok", "A Socket.IO server answers at \(path).")
      begin(.engine)
    }
    switch reading {
    case .handshake(let spoken, let handshake, let upgrades):
      speaks(spoken, handshake, upgrades)
      look(for: Stickiness.Session(handshake, response))
    case .otherRevision where revision == .four: open(.three)
    case .pollingOff:
      find(.ok, "engine.websocket_only", "The server offers no long-polling.")
      lookAtWebSocket()
    case .otherRevision, .problem:
      find(
        .failed, "engine.none", "The server speaks neither revision 4 nor revision 3 of Engine.IO.",
        "Servers of Socket.IO 1 to 4 speak one of them: look what is installed there.")
      finish()
    }
  }

  private func speaks(_ spoken: EngineIORevision, _ handshake: EngineIOHandshake, _ upgrades: [String]) {
    revision = spoken
    pollingWorks = true
    let more = upgrades.isEmpty ? "no upgrade" : "upgrade to \(upgrades.joined(separator: ", "))"
    let seen =
      "Engine.IO \(spoken.rawValue): long-polling works; \(more); ping every \(handshake.pingInterval.milliseconds) ms."
    guard spoken == .three else { return find(.ok, "engine.ok", seen) }
    find(
      .ok, "engine.three", seen,
      "An old server, of Socket.IO 1 or 2. The gateway speaks its revision; clients for Socket.IO 3 and later do not.")
  }
}
