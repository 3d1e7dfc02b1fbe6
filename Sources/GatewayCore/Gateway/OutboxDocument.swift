/// Writes entries of the outbox for local programs.
enum OutboxDocument {
  /// With `size`, of an entry that takes so many bytes, which is more than a line has: what it takes to find and to
  /// steer it, and how large it is.
  /// `host`: whose it is, where that is another one.
  /// `showsAnswer`: whether its reader may be told what a server answers.
  static func write(
    _ record: OutboxRecord, of host: String? = nil, ofBytes size: Int? = nil, showsAnswer: Bool = true,
    _ out: inout JSONWriter
  ) {
    let entry = record.entry
    func shown(_ text: String) -> String { size == nil ? text : text.shortened(to: shortLimit) }
    out.object {
      $0.member("id", entry.id)
      $0.member("upstream", entry.target.upstream)
      if size == nil, case .url(let url) = entry.target.name { $0.member("url", UpstreamURL.redacted(url)) }
      if size == nil, let options = entry.target.options {
        $0.key("options")
        options.writeShown(into: &$0)
      }
      $0.member("namespace", shown(ShownAddress.namespace(entry.target.namespace)))
      $0.member("event", shown(entry.message.event))
      $0.member("state", entry.state.rawValue)
      $0.member("created", entry.created)
      $0.member("expires", entry.expires)
      $0.member("attempts", record.attempts)
      $0.member("reason", entry.state.isFinal ? entry.reason : waitingFor(record))
      $0.member("uid", Int(entry.owner))
      if let host { $0.member("host", host) }
      if let size { return $0.member("size", size) }
      if let key = entry.key { $0.member("key", key) }
      if let ended = entry.ended { $0.member("ended", ended) }
      guard showsAnswer, let result = entry.result else { return }
      $0.key("args")
      $0.raw([UInt8(ascii: "[")] + result + [UInt8(ascii: "]")])
    }
  }

  /// What is left of each text of such an entry, in bytes.
  private static let shortLimit = 64

  /// Why a queued entry has not left yet; nil when it is about to.
  private static func waitingFor(_ record: OutboxRecord) -> String? {
    guard !record.entry.state.isFinal else { return nil }
    if record.isWithheld { return "permission" }
    if record.isElsewhere { return "adopted" }
    guard let carrier = record.connection, !carrier.isWithdrawn else { return "not_configured" }
    guard carrier.state == .connected else { return carrier.lastFailure?.reason.rawValue }
    return record.command.map { $0.isQueued && $0.isSuspected } ?? false ? OutboxEntry.suspected : nil
  }

  /// The member `outbox` of `status`: a program sees the numbers of its own user, an administrator all.
  static func writeStatus(_ outbox: Outbox, of user: UInt32?, _ out: inout JSONWriter) {
    let queued = user.map { outbox.usage.amount(of: $0) } ?? outbox.usage.total
    let finished =
      user.map { outbox.archive.count(of: $0) } ?? outbox.archive.count
    out.key("outbox")
    out.object {
      $0.member("state", outbox.rows.condition.name)
      $0.member("reason", outbox.rows.condition.problem?.kind.rawValue)
      $0.member("detail", outbox.rows.condition.problem?.message)
      $0.member("warning", outbox.rows.warning?.message)
      $0.key("queued")
      $0.object {
        $0.member("count", queued.count)
        $0.member("bytes", queued.bytes)
      }
      $0.member("finished", finished)
    }
  }
}

extension OutboxRows.Condition {
  fileprivate var name: String {
    switch self {
    case .working: "working"
    case .failing: "failing"
    case .unavailable: "unavailable"
    }
  }
}

extension UpstreamURL {
  /// The text of a canonical URL without user info and query values, as `short` spells it.
  fileprivate static func redacted(_ text: String) -> String {
    guard let scheme = text.firstIndex(of: ":") else { return "***" }
    let behind = text[scheme...].dropFirst(3)
    let end = behind.firstIndex(where: { $0 == "/" || $0 == "?" || $0 == "#" }) ?? behind.endIndex
    let host = behind[..<end].split(separator: "@").last ?? ""
    let path = behind[end...].prefix { $0 != "?" && $0 != "#" }
    let query = behind[end...].dropFirst(path.count).prefix { $0 != "#" }
    let port = ["http": ":80", "https": ":443"][String(text[..<scheme])]
    let place = port.map { host.hasSuffix($0) } ?? false ? host.dropLast(port?.count ?? 0) : host
    return text[..<scheme] + "://" + place + (path == "/" && query.isEmpty ? "" : path)
      + ShownAddress.target(String(query))
  }
}
