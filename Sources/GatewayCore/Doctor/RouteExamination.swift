/// The steps `name`, `tcp`, `proxy` and `tls`, for every kind of upstream.
final class RouteExamination {
  private unowned let doctor: Doctor

  init(_ doctor: Doctor) { self.doctor = doctor }

  /// One connection shows all of it: a proxy may be another one for plain text than for TLS.
  func start() {
    doctor.begin(.name)
    doctor.hold(doctor.seams.route.probe(doctor.dial) { [weak self] in self?.routeSeen($0) })
  }

  private func routeSeen(_ report: RouteReport) {
    switch report.end {
    case nil:
      wayIsOpen(report.address, report.proxy)
      doctor.begin(.tls)
      if doctor.dial.secure {
        doctor.find(TLSReading.finding(report, verified: doctor.dial.tls.verify, now: doctor.time.wallMilliseconds))
      } else {
        doctor.find(.skipped, "tls.none", "The address asks for no TLS.")
      }
      doctor.routeIsOpen()
    case let end? where end.failure.reason == .auth:
      secretIsMissing(end)
      doctor.finish()
    case let end? where end.phase == .tls && doctor.dial.secure:
      wayIsOpen(report.address, report.proxy)
      doctor.begin(.tls)
      lookAtCertificate(end.failure)
    case let end?:
      routeEnds(end)
      doctor.finish()
    }
  }

  private func wayIsOpen(_ address: String, _ proxy: String?) {
    nameIsKnown(proxy == nil && !address.isEmpty ? address : nil)
    doctor.begin(.tcp)
    let host = address.isEmpty ? proxy ?? doctor.dial.host : address
    doctor.find(
      .ok, "tcp.ok",
      proxy == nil ? "\(host) takes connections on port \(doctor.dial.port)." : "The proxy takes connections.")
    doctor.begin(.proxy)
    if let proxy {
      doctor.find(.ok, "proxy.ok", "The way goes through the proxy \(proxy).")
    } else {
      doctor.find(.skipped, "proxy.none", "No proxy is used.")
    }
  }

  private func nameIsKnown(_ address: String?) {
    let isAddress = doctor.dial.host.contains(":") || doctor.dial.host.allSatisfy { $0.isNumber || $0 == "." }
    let seen = isAddress ? "\(doctor.dial.host) is an address." : "\(doctor.dial.host) is \(address ?? "known")."
    doctor.find(.ok, "name.ok", seen)
  }

  /// A password for the way could not be read, and so nothing was dialled.
  private func secretIsMissing(_ end: RouteReport.End) {
    let isOfProxy = end.phase == .proxy
    let setting = isOfProxy ? "proxy_password_file" : "tls.key_password_file"
    doctor.begin(isOfProxy ? .proxy : .tls)
    doctor.find(
      .failed, isOfProxy ? "proxy.file" : "tls.file", Doctor.sentence(end.failure),
      "Repair the file that `\(setting)` names; the daemon has to be able to read it.")
  }

  private func routeEnds(_ end: RouteReport.End) {
    let seen = Doctor.sentence(end.failure.detail)
    let isSlow = end.failure.reason == .timeout
    switch end.phase {
    case .name:
      doctor.find(
        .failed, isSlow ? "name.silent" : "name.unknown", seen,
        isSlow
          ? "The name server does not answer: check this machine's network and /etc/resolv.conf."
          : "There is no such host: check the spelling, and ask with 'getent hosts \(doctor.dial.host)'.")
    case .tcp, .tls:
      nameIsKnown(nil)
      doctor.begin(.tcp)
      if isSlow {
        doctor.find(
          .failed, "tcp.silent", seen,
          "Nothing answers: the host is down, or a firewall in between drops what we send. Check address and port.")
      } else if end.failure.detail.contains(text: "refused") {
        doctor.find(
          .failed, "tcp.refused", seen,
          "The host is there, but no program listens on port \(doctor.dial.port): start the server, or correct the port."
        )
      } else {
        doctor.find(
          .failed, "tcp.unreachable", seen, "There is no way to the host: check this machine's network and its routes.")
      }
    case .proxy:
      nameIsKnown(nil)
      doctor.begin(.proxy)
      doctor.find(
        .failed, isSlow ? "proxy.silent" : "proxy.refused", seen,
        "Check the proxy's address, its user and password, and whether it lets through to \(doctor.place); `no_proxy` goes past it."
      )
    }
  }

  // MARK: - TLS

  /// A certificate that was not accepted is looked at without accepting it.
  private func lookAtCertificate(_ failure: UpstreamFailure) {
    var unverified = doctor.dial
    unverified.tls.verify = false
    unverified.tls.pins = []
    doctor.hold(
      doctor.seams.route.probe(unverified) { [weak self] report in
        guard let doctor = self?.doctor else { return }
        doctor.find(
          TLSReading.finding(failure, of: doctor.dial, report.end == nil ? report : nil))
        doctor.finish()
      })
  }
}
