/// `reload`: the configuration is read again, all of it or nothing.
struct ReloadCall: LocalCall {
  static let method = LocalMethod(
    "reload", "Reads the configuration again; a mistake in it changes nothing.", right: .admin,
    result: .object([
      .always("changed", .list(.text), "What is different now."),
      .sometimes(
        "restart", .list(.text), "Settings that are used from the next start of the daemon on; not there without any."),
      .sometimes("takes_links", .boolean, "This host had left its fleet's links to others, and takes them again."),
      .sometimes(
        "warnings",
        .list(.object([.always("file", .text), .always("line", .count), .always("message", .text)])),
        "What the configuration says that is no mistake and hardly meant; not there without any."),
    ]))

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try session.caller.demandAdministrator()
    let gateway = session.gateway
    if gateway.isDraining { throw .draining }
    let hadLeft = gateway.upstreams.fleet?.leaves == true
    switch gateway.reload() {
    case .success(let changed):
      session.reply(id) { out in
        out.key("changed")
        out.beginArray()
        changed.forEach { out.string($0) }
        out.endArray()
        let waiting = gateway.needsRestart
        if !waiting.isEmpty {
          out.key("restart")
          out.beginArray()
          waiting.forEach { out.string($0) }
          out.endArray()
        }
        if hadLeft {
          out.key("takes_links")
          out.bool(true)
        }
        let warnings = gateway.configurationWarnings
        if !warnings.isEmpty {
          out.key("warnings")
          out.raw(ConfigurationProblem.list(warnings))
        }
      }
    case .failure(let problems): throw LocalError(problems)
    }
  }
}

extension ReloadCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) {}
}
