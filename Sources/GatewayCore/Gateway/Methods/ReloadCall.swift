/// `reload`: the configuration is read again, all of it or nothing.
struct ReloadCall: LocalCall {
  static let method = LocalMethod(
    "reload", "Reads the configuration again; a mistake in it changes nothing.", right: .admin,
    result: .object([
      .always("changed", .list(.text), "What is different now."),
      .sometimes("left_out", .count, "How many of that did not fit into one line; not there where all did."),
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
    let hadLeft = gateway.upstreams.fleet?.leaves == true
    switch gateway.reload() {
    case .success(let changed):
      session.reply(id) { Self.write(changed, takesLinks: hadLeft, of: gateway, into: &$0) }
    case .failure(.draining): throw .draining
    case .failure(.invalid(let problems)): throw LocalError(problems, lineLimit: gateway.configuration.limits.line)
    }
  }

  /// What was done is answered however long it is: of what changed, and of the warnings, as much as fits.
  private static func write(
    _ changed: [String], takesLinks: Bool, of gateway: Gateway, into out: inout JSONWriter
  ) {
    let limit = StatusDocument.listLimit(gateway)
    let waiting = gateway.needsRestart
    let warnings = ConfigurationProblems(gateway.configurationWarnings).list("warnings", within: limit / 2).json
    // What stands behind the first list: names of settings, each with its quotes and comma, and the warnings.
    let rest = waiting.reduce(64) { $0 + $1.utf8.count + 3 } + warnings.count
    out.key("changed")
    out.beginArray()
    let leftOut = out.values(changed, within: limit - rest) { $1.string($0) }
    out.endArray()
    if leftOut > 0 { out.member("left_out", leftOut) }
    if !waiting.isEmpty {
      out.key("restart")
      out.beginArray()
      waiting.forEach { out.string($0) }
      out.endArray()
    }
    if takesLinks {
      out.key("takes_links")
      out.bool(true)
    }
    if !gateway.configurationWarnings.isEmpty {
      out.key("warnings")
      out.raw(warnings)
    }
  }
}

extension ReloadCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) {}
}
