import GatewayCore

/// Looks how far the way to a server is open, by connections that carry nothing.
final class CurlRouteProbe: RouteProbe {
  private let multi: CurlMulti
  private var looks: [ObjectIdentifier: Look] = [:]

  init(multi: CurlMulti) { self.multi = multi }

  func probe(
    _ request: DialRequest, _ done: @escaping (RouteReport) -> Void
  ) -> any HTTPExchange {
    let look = Look(request, done) { [weak self] in self?.looks[ObjectIdentifier($0)] = nil }
    looks[ObjectIdentifier(look)] = look
    look.start(multi)
    return look
  }
}

/// One connection.
private final class Look: HTTPExchange {
  private let request: DialRequest
  private var easy: CurlEasy?
  private var done: ((RouteReport) -> Void)?
  private let onOver: (Look) -> Void

  init(
    _ request: DialRequest, _ done: @escaping (RouteReport) -> Void,
    onOver: @escaping (Look) -> Void
  ) {
    self.request = request
    self.done = done
    self.onOver = onOver
  }

  func start(_ multi: CurlMulti) {
    do throws(CurlProblem) {
      let easy = try CurlEasy(multi)
      self.easy = easy
      try easy.configure(request)
      try easy.set(.connectOnly, 1)
      try easy.set(.freshConnection, 1)
      if request.secure { try easy.set(.keepsCertificates, 1) }
      easy.onDone = { [unowned self] in finish($0) }
      try easy.start(CurlEasy.Limits(connecting: request.phaseLimit))
    } catch {
      multi.loop.onNextTurn { [self] in finish(error) }
    }
  }

  func cancel() { end() }

  private func finish(_ problem: CurlProblem?) {
    let done = done
    let report = problem.map(report(of:)) ?? openReport
    end()
    done?(report)
  }

  private func end() {
    done = nil
    easy = nil
    onOver(self)
  }

  private var openReport: RouteReport {
    guard let easy else { return RouteReport(address: "") }
    guard request.secure else { return RouteReport(address: easy.address, proxy: easy.proxy) }
    // libcurl tells of the TLS session only once something was read or written.
    withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { _ = easy.receive(into: $0) }
    return RouteReport(
      address: easy.address, proxy: easy.proxy, tlsVersion: easy.tlsVersion,
      certificates: easy.certificates.map(Self.facts))
  }

  private static func facts(_ lines: [String]) -> CertificateFacts {
    let value = { (name: String) in
      lines.first { $0.hasPrefix(name + ":") }.map { String($0.dropFirst(name.count + 1)) } ?? "?"
    }
    return CertificateFacts(subject: value("Subject"), issuer: value("Issuer"), expires: value("Expire date"))
  }

  private func report(of problem: CurlProblem) -> RouteReport {
    RouteReport(
      address: easy?.address ?? "", proxy: problem.proxy,
      end: RouteReport.End(phase(problem), problem.failure(dialing: request)))
  }

  private func phase(_ problem: CurlProblem) -> RouteReport.Phase {
    switch problem.kind {
    case .nameNotResolved: .name
    case .notConnected: .tcp
    case .certificateRefused, .badCertificateFile, .tls, .notPinned: .tls
    case .proxy, .unusable: .proxy
    case .timedOut(let phase), .noSecret(let phase): Self.phase(phase)
    case .lost, .hungUp, .notHTTP, .late, .other: Self.phase(easy?.phase ?? .tcp)
    }
  }

  private static func phase(_ phase: CurlProblem.Phase) -> RouteReport.Phase {
    switch phase {
    case .name: .name
    case .tcp: .tcp
    case .proxy: .proxy
    case .tls, .answer: .tls
    }
  }
}
