/// `upstreams.list`: the names of the configured upstreams, with or without a connection.
struct UpstreamsListCall: LocalCall {
  static let method = LocalMethod(
    "upstreams.list", "Lists the names of the configured upstreams on which the caller has any right.", right: nil,
    result: .object([
      .always("upstreams", .list(.text)),
      .sometimes("left_out", .count, "How many did not fit into one line."),
    ]))

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try OpenAnswer.begin(id, in: session) { UpstreamsAnswer($0, for: session) }
  }
}

extension UpstreamsListCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) {}
}

/// The answer to `upstreams.list`, in portions: what the caller may know is asked of the rules for each name.
final class UpstreamsAnswer: PortionedAnswer {
  private var out = JSONWriter()
  private var names: ListRest<String>

  /// Looked at in one go: less than a millisecond.
  private static let portion = 256

  /// The upstreams are those of the configuration that is in force now.
  init(_ id: RequestID, for session: LocalSession) {
    names = ListRest(session.gateway.configuration.upstreams.keys, for: session)
    LocalReply.begin(id, into: &out)
    out.key("upstreams")
    out.beginArray()
  }

  var line: [UInt8] { out.bytes }

  func isLong(in gateway: Gateway) -> Bool { gateway.configuration.upstreams.count > Self.portion }

  func write(for session: LocalSession) -> Bool {
    names.write(
      Self.portion, for: session, into: &out, { session.caller.mayKnow($0) ? $0 : nil }, { $1.string($0) })
    guard names.isEmpty else { return false }
    out.endArray()
    out.member("left_out", names.leftOut)
    LocalReply.end(&out)
    return true
  }

  func demandRights(of caller: Caller) {}
}
