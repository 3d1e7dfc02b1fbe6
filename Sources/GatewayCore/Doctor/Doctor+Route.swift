/// Name, TCP, proxy and TLS.
extension Doctor {
  /// One connection shows all of it: a proxy may be another one for plain text than for TLS.
  func lookAtRoute() {
    begin(.name)
    hold(seams.route.probe(dial) { [weak self] in self?.routeSeen($0) })
  }

  private func routeSeen(_ result: Result<RouteReport, RouteProblem>) {
    switch result {
    case .success(let report):
      wayIsOpen(report.address, report.proxy)
      begin(.tls)
      if dial.secure {
        find(TLSReading.finding(report, verified: dial.tls.verify, now: time.wallMilliseconds))
      } else {
        find(.skipped, "tls.none", "The address asks for no TLS.")
      }
      switch examination {
      case .engineIO: lookAtHTTP()
      case .handshake: lookAtHandshake()
      }
    case .failure(let problem) where problem.phase == .tls && dial.secure:
      wayIsOpen(problem.address, problem.proxy)
      begin(.tls)
      lookAtCertificate(problem.failure)
    case .failure(let problem):
      routeEnds(problem)
      finish()
    }
  }

  private func wayIsOpen(_ address: String, _ proxy: String?) {
    nameIsKnown(proxy == nil && !address.isEmpty ? address : nil)
    begin(.tcp)
    let host = address.isEmpty ? proxy ?? dial.host : address
    find(
      .ok, "tcp.ok", proxy == nil ? "\(host) takes connections on port \(dial.port)." : "The proxy takes connections.")
    begin(.proxy)
    if let proxy {
      find(.ok, "proxy.ok", "The way goes through the proxy \(proxy).")
    } else {
      find(.skipped, "proxy.none", "No proxy is used.")
    }
  }

  private func nameIsKnown(_ address: String?) {
    let isAddress = dial.host.contains(":") || dial.host.allSatisfy { $0.isNumber || $0 == "." }
    let seen = isAddress ? "\(dial.host) is an address." : "\(dial.host) is \(address ?? "known")."
    find(.ok, "name.ok", seen)
  }

  private func routeEnds(_ problem: RouteProblem) {
    let seen = problem.failure.detail.prefix(1).uppercased() + problem.failure.detail.dropFirst() + "."
    let isSlow = problem.failure.reason == .timeout
    switch problem.phase {
    case .name:
      find(
        .failed, isSlow ? "name.silent" : "name.unknown", seen,
        isSlow
          ? "The name server does not answer: check this machine's network and /etc/resolv.conf."
          : "There is no such host: check the spelling, and ask with 'getent hosts \(dial.host)'.")
    case .tcp, .tls:
      nameIsKnown(nil)
      begin(.tcp)
      if isSlow {
        find(
          .failed, "tcp.silent", seen,
          "Nothing answers: the host is down, or a firewall in between drops what we send. Check address and port.")
      } else if problem.failure.detail.contains(text: "refused") {
        find(
          .failed, "tcp.refused", seen,
          "The host is there, but no program listens on port \(dial.port): start the server, or correct the port.")
      } else {
        find(
          .failed, "tcp.unreachable", seen, "There is no way to the host: check this machine's network and its routes.")
      }
    case .proxy:
      nameIsKnown(nil)
      begin(.proxy)
      find(
        .failed, isSlow ? "proxy.silent" : "proxy.refused", seen,
        "Check the proxy's address, its user and password, and whether it lets through to \(place); `no_proxy` goes past it."
      )
    }
  }

  // MARK: - TLS

  /// A certificate that was not accepted is looked at without accepting it.
  private func lookAtCertificate(_ failure: UpstreamFailure) {
    var unverified = dial
    unverified.tls.verify = false
    unverified.tls.pins = []
    hold(
      seams.route.probe(unverified) { [weak self] result in
        guard let self else { return }
        find(TLSReading.finding(failure, host: dial.host, port: dial.port, try? result.get()))
        finish()
      })
  }
}
