/// The steps of a server of Engine.IO behind the open port: `http`, `engine`, `websocket`, `sticky`, `namespace`,
/// `auth` and `round_trip`.
final class EngineIOExamination {
  private unowned let doctor: Doctor
  /// What the server speaks, once it is known.
  private var revision: EngineIORevision?
  /// Long-polling got its handshake.
  private var pollingWorks = false
  private var webSocketWorks = false
  /// Of one question and its answer, the shortest so far.
  private var roundTrip: Duration?
  private var stickiness = Stickiness()

  /// A longer round trip is worth a warning.
  private static let slow: Duration = .milliseconds(500)

  init(_ doctor: Doctor) { self.doctor = doctor }

  /// A request of long-polling. Each goes over a connection of its own, so that a balancer may choose anew.
  private func pollingRequest(_ revision: EngineIORevision, sid: String? = nil) -> DialRequest {
    var request = doctor.dial
    var query = "EIO=\(revision.rawValue)&transport=polling"
    if revision == .three { query += "&b64=1" }
    if let sid { query += "&sid=" + PercentEncoding.component(sid) }
    let own = request.target.split(separator: "&").dropFirst(2).map { "&" + $0 }.joined()
    request.target = request.target.prefix { $0 != "?" } + "?" + query + own
    request.headers.append(HTTPHeader(name: "Connection", value: "close"))
    return request
  }

  /// Sends one request, and keeps the time of its answer.
  private func ask(
    _ dial: DialRequest, body: String? = nil,
    _ done: @escaping (EngineIOExamination, Result<HTTPResponse, UpstreamFailure>) -> Void
  ) {
    let request = HTTPRequest(
      dial, body: body.map { Array($0.utf8) }, contentType: body.map { _ in "text/plain;charset=UTF-8" },
      answerLimit: dial.phaseLimit, isAlone: true, keptLimit: HTTPResponse.refusalLimit)
    let began = doctor.time.now
    doctor.hold(
      doctor.seams.requester.start(request) { [weak self] result in
        guard let self else { return }
        if case .success = result { noteRoundTrip(doctor.time.now - began) }
        done(self, result)
      })
  }

  // MARK: - The path

  /// The step `http`: is there an Engine.IO server at the path, and of which revision?
  func start() {
    doctor.begin(.http)
    open(.four)
  }

  private func open(_ revision: EngineIORevision) {
    let request = pollingRequest(revision)
    ask(request) { examination, result in
      switch result {
      case .success(let response): examination.answered(response, to: request, revision)
      case .failure(let failure): examination.unanswered(failure)
      }
    }
  }

  private func unanswered(_ failure: UpstreamFailure) {
    let seen = Doctor.sentence(failure.detail)
    switch failure.reason {
    case .tls:
      doctor.find(
        .failed, "http.tls", seen, "Encryption is spoken on port \(doctor.dial.port): use https:// or wss://.")
    case .timeout:
      doctor.find(
        .failed, "http.slow", seen,
        "The server takes the request, but does not answer in time: it hangs, or is overloaded. Look into its log.")
    case .closed, .unreachable:
      doctor.find(
        .failed, "http.closed", seen,
        "What listens on port \(doctor.dial.port) hangs up on HTTP: check the port, and whether it wants https:// instead."
      )
    case .tooLarge:
      doctor.find(
        .failed, "http.unexpected", seen, "What listens there is no Socket.IO server: check host, port and `path`.")
    case .idle, .requested, .offline, .http, .incompatible, .refused, .kicked, .heartbeat, .protocolError, .auth,
      .fleet, .draining:
      doctor.find(
        .failed, "http.foreign", seen,
        "What listens on port \(doctor.dial.port) speaks another protocol: check the port.")
    }
    doctor.finish()
  }

  private func answered(_ response: HTTPResponse, to request: DialRequest, _ revision: EngineIORevision) {
    let path = request.target.prefix { $0 != "?" }
    let reading = HTTPReading(response, to: request)
    if doctor.step == .http {
      if case .problem(let code, let seen, let advice) = reading {
        doctor.find(.failed, code, seen, advice)
        return doctor.finish()
      }
      doctor.find(.ok, "http.ok", "A Socket.IO server answers at \(path).")
      doctor.begin(.engine)
    }
    switch reading {
    case .handshake(let spoken, let handshake, let upgrades):
      speaks(spoken, handshake, upgrades)
      look(for: Stickiness.Session(handshake, response))
    case .otherRevision where revision == .four: open(.three)
    case .pollingOff:
      doctor.find(.ok, "engine.websocket_only", "The server offers no long-polling.")
      lookAtWebSocket()
    case .otherRevision, .problem:
      doctor.find(
        .failed, "engine.none", "The server speaks neither revision 4 nor revision 3 of Engine.IO.",
        "Servers of Socket.IO 1 to 4 speak one of them: look what is installed there.")
      doctor.finish()
    }
  }

  private func speaks(_ spoken: EngineIORevision, _ handshake: EngineIOHandshake, _ upgrades: [String]) {
    revision = spoken
    pollingWorks = true
    let more = upgrades.isEmpty ? "no upgrade" : "upgrade to \(upgrades.joined(separator: ", "))"
    let seen =
      "Engine.IO \(spoken.rawValue): long-polling works; \(more); ping every \(handshake.pingInterval.milliseconds) ms."
    guard spoken == .three else { return doctor.find(.ok, "engine.ok", seen) }
    doctor.find(
      .ok, "engine.three", seen,
      "An old server, of Socket.IO 1 or 2. The gateway speaks its revision; clients for Socket.IO 3 and later do not.")
  }

  /// The fastest answer counts.
  private func noteRoundTrip(_ duration: Duration) { roundTrip = min(roundTrip ?? duration, duration) }

  // MARK: - Stickiness

  /// Asks for a session that was just opened; once more where it is not known, until several servers are proven.
  private func look(for session: Stickiness.Session, asked: Int = 1) {
    let revision = revision ?? .four
    var request = pollingRequest(revision, sid: session.sid)
    if !session.cookies.isEmpty {
      request.headers.append(HTTPHeader(name: "Cookie", value: session.cookies.joined(separator: "; ")))
    }
    ask(request, body: revision == .three ? "1:1" : "1") { examination, result in
      let answer = Stickiness.Answer(result)
      if answer == .unknown, asked < Stickiness.askLimit, !examination.stickiness.provesSeveralServers {
        return examination.look(for: session, asked: asked + 1)
      }
      examination.stickiness.take(answer, asked: asked)
      examination.openNextSession()
    }
  }

  private func openNextSession() {
    guard stickiness.opened < Stickiness.sessions else { return lookAtWebSocket() }
    let request = pollingRequest(revision ?? .four)
    ask(request) { examination, result in
      if case .success(let response) = result,
        case .handshake(_, let handshake, _) = HTTPReading(response, to: request)
      {
        return examination.look(for: Stickiness.Session(handshake, response))
      }
      examination.stickiness.take(.nothing(Stickiness.sentence(of: result)), asked: 1)
      examination.openNextSession()
    }
  }

  /// Says what the sessions showed; after the WebSocket, because without one it weighs more.
  private func judgeStickiness() {
    doctor.begin(.sticky)
    guard pollingWorks else {
      return doctor.find(.skipped, "sticky.none", "Without long-polling nothing has to be sticky.")
    }
    let seen =
      "\(stickiness.found) of \(stickiness.opened) sessions were known to the server that their second request reached."
    guard stickiness.found < stickiness.opened else { return doctor.find(.ok, "sticky.ok", seen) }
    let verdict = webSocketWorks ? DoctorVerdict.warning : .failed
    let way = webSocketWorks ? " WebSocket works without; long-polling does not." : ""
    guard !stickiness.provesSeveralServers else {
      let balancer =
        "There are several servers behind a balancer that is not sticky: have it keep a client with its server (by "
        + "cookie or address), or share sessions."
      return doctor.find(verdict, "sticky.lost", seen, balancer + way)
    }
    doctor.find(
      .warning, "sticky.unsure", seen + (stickiness.trouble.map { " \($0)" } ?? ""),
      "Long-polling may not work there. Examine it again; if it stays so, look into the log of the server and of what "
        + "is in between.")
  }

  // MARK: - The WebSocket

  /// The step `websocket`.
  private func lookAtWebSocket() {
    doctor.begin(.websocket)
    tryWebSocket(revision ?? .four)
  }

  private func tryWebSocket(_ revision: EngineIORevision) {
    var request = doctor.dial
    request.target = Self.target(request.target, revision)
    let probe = WebSocketProbe(
      dialer: doctor.seams.dialer, timers: doctor.timers, time: doctor.time, limit: request.phaseLimit)
    doctor.hold(probe)
    probe.start(request) { [weak self] result in self?.webSocketSeen(result, revision) }
  }

  private static func target(_ target: String, _ revision: EngineIORevision) -> String {
    guard let range = target.firstRange(ofText: "EIO=4") else { return target }
    return target[..<range.lowerBound] + "EIO=\(revision.rawValue)" + target[range.upperBound...]
  }

  private func webSocketSeen(_ result: Result<Duration?, TransportFailure>, _ revision: EngineIORevision) {
    switch result {
    case .success(let roundTrip):
      webSocketWorks = true
      self.revision = self.revision ?? revision
      if let roundTrip { noteRoundTrip(roundTrip) }
      doctor.find(.ok, "websocket.ok", "A WebSocket can be opened.")
    case .failure(let failure):
      if self.revision == nil, revision == .four, EngineIORefusal(body: failure.httpBody) == .unsupportedRevision {
        return tryWebSocket(.three)
      }
      blocked(EngineIORefusal.explain(failure, .websocket))
    }
    judgeStickiness()
    guard webSocketWorks || pollingWorks else { return doctor.finish() }
    lookAtNamespace()
  }

  private func blocked(_ failure: UpstreamFailure) {
    let seen = "No WebSocket: \(failure.detail)."
    let advice =
      "HTTP comes through but no WebSocket: a proxy or balancer in between does not pass on `Upgrade`, or the server has it "
      + "switched off. Have it allowed."
    doctor.find(
      pollingWorks ? .warning : .failed, "websocket.blocked", seen,
      pollingWorks ? advice + " Until then long-polling is the only way." : advice)
  }

  // MARK: - The namespace

  /// The step `namespace`, with which the examination ends.
  private func lookAtNamespace() {
    doctor.begin(.namespace)
    let visit = NamespaceVisit(doctor.connector)
    doctor.hold(visit)
    visit.start { [weak self] in self?.namespaceSeen($0) }
  }

  private var namespace: String { doctor.specification.shownNamespace }

  /// There are credentials, and nothing that is written says them.
  private var isUntold: Bool {
    let isMain = doctor.specification.namespace.prefix { $0 != "?" } == "/"
    return revision == .three && isMain && doctor.specification.settings.auth != .none
  }

  private func namespaceSeen(_ result: Result<Void, UpstreamFailure>) {
    switch result {
    case .failure(let failure) where failure.reason == .auth: return doctor.credentialsFailed(failure)
    case .success:
      doctor.find(.ok, "namespace.ok", "The server accepts the namespace \(namespace).")
      doctor.begin(.auth)
      if isUntold { doctor.credentialsUntold() } else { doctor.credentialsAccepted() }
      judgeRoundTrip()
    case .failure(let failure): refused(failure)
    }
    doctor.finish()
  }

  private func refused(_ failure: UpstreamFailure) {
    let seen = Doctor.sentence(failure)
    switch failure.reason {
    case .refused where Self.isUnknown(failure):
      doctor.find(.failed, "namespace.unknown", seen, adviceForUnknown)
    case .refused:
      doctor.find(.ok, "namespace.ok", "The server knows the namespace \(namespace).")
      doctor.credentialsRefused(failure)
    case .timeout:
      doctor.find(
        .failed, "namespace.silent", seen,
        "The server opens the link but does not answer for the namespace: a middleware of it hangs, or it expects another "
          + "parser (`parser` is \(parser) here). Look into its log.")
    case .idle, .requested, .offline, .unreachable, .tls, .http, .incompatible, .kicked, .closed, .heartbeat,
      .protocolError, .tooLarge, .auth, .fleet, .draining:
      doctor.find(
        .failed, "namespace.failed", seen,
        "The link broke before the namespace was accepted: the server may expect another parser (`parser` is \(parser) "
          + "here); look into its log.")
    }
  }

  private var parser: String { "\"\(doctor.specification.settings.parser.rawValue)\"" }

  /// Socket.IO's own HTTP path is not a part of the URL, though people write it there.
  private var adviceForUnknown: String {
    if ["/socket.io", "/socket.io/"].contains(doctor.specification.namespace) {
      return
        "Leave \(namespace) out of the URL: Socket.IO's HTTP path is found by itself (`path` for another one), and the "
        + "path of the URL is the namespace."
    }
    return
      "The server has no namespace \(namespace): the path of the URL is the namespace. Leave it out for the main one, "
      + "or ask which namespaces there are."
  }

  /// What servers say to a namespace that they do not have: Node, and Python.
  private static func isUnknown(_ failure: UpstreamFailure) -> Bool {
    failure.serverMessage == "Invalid namespace" || failure.serverMessage == "Unable to connect"
  }

  private func judgeRoundTrip() {
    doctor.begin(.roundTrip)
    guard let roundTrip else { return doctor.find(.skipped, "round_trip.none", "No answer was timed.") }
    let tenths = (roundTrip.nanoseconds + 50_000) / 100_000
    let seen = "A question and its answer take \(tenths / 10).\(tenths % 10) ms."
    guard roundTrip > Self.slow else { return doctor.find(.ok, "round_trip.ok", seen) }
    doctor.find(
      .warning, "round_trip.slow", seen,
      "That is slow: the server is far away or busy. Everything works, but takes its time; see that `timeout` allows for it."
    )
  }
}
