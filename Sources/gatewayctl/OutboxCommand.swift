import GatewayCore

/// `outbox list|cancel|retry|purge`, and `drain`.
enum OutboxCommand {
  /// What is done with the entries. The raw value is the word on the command line.
  enum Verb: String, CaseIterable {
    case list, cancel, retry, purge

    /// What has been done, for a person.
    var done: String {
      switch self {
      case .list: "listed"
      case .cancel: "cancelled"
      case .retry: "queued again"
      case .purge: "forgot"
      }
    }
  }

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let word = context.arguments.operands.first ?? ""
    guard let verb = Verb(rawValue: word) else {
      let words = Verb.allCases.map(\.rawValue)
      let nearest = NearestName.of(word, among: words).map { "did you mean '\($0)'?" }
      throw Failure(.usage, "outbox: unknown verb '\(word)'; \(nearest ?? "write \(words.joined(separator: ", "))")")
    }
    let selection = try selection(context)
    guard verb != .list else { return try list(context, selection) }
    guard selection.isNarrow || verb == .purge else {
      throw Failure(.usage, "outbox \(verb.rawValue): name ids, or with --upstream the upstream whose sends are meant")
    }
    let result = try context.client.call("outbox.\(verb.rawValue)", until: context.deadline, selection.write)
    let count = RawMembers(result)?.integer("count") ?? "?"
    try context.confirm(result, "\(verb.done) \(count) \(count == "1" ? "send" : "sends")")
    if let detail = RawMembers(result)?.string("detail") {
      context.notices.error("done, but not on the disk yet, and a crash of the daemon before that undoes it: \(detail)")
    }
    if let count = Int(count) { sayLeftOut(Set(selection.ids).count - count, context) }
    return .done
  }

  /// Says that for so many of the ids that were given nothing was done.
  private static func sayLeftOut(_ count: Int, _ context: Context) {
    guard count > 0 else { return }
    let subject = count == 1 ? "1 id: it is" : "\(count) ids: they are"
    context.notices.error(
      "nothing was done for \(subject) none of your sends, or too late; 'gatewayctl outbox list' shows yours")
  }

  /// Most entries that one answer may have; a line has room for fewer where they are long.
  private static let countLimit = 10_000

  /// The members of `params` that say which entries are meant.
  private struct Selection {
    var target: Target?
    var ids: [String]
    var states: [String]
    var limit: Int?

    /// Fewer than all.
    var isNarrow: Bool { target != nil || !ids.isEmpty }
    /// Every entry that one may see.
    var isEverything: Bool { !isNarrow && states.isEmpty }

    func write(into writer: inout JSONWriter) {
      target?.write(into: &writer)
      for (key, words) in [("ids", ids), ("states", states)] where !words.isEmpty {
        writer.key(key)
        writer.beginArray()
        words.forEach { writer.string($0) }
        writer.endArray()
      }
      guard let limit else { return }
      writer.key("limit")
      writer.integer(limit)
    }
  }

  private static func selection(_ context: Context) throws(Failure) -> Selection {
    let arguments = context.arguments
    let target = arguments.value(.upstream).map { Target($0, namespace: arguments.value(.namespace)) }
    let states = arguments.values(.state).flatMap { $0.split(separator: ",").map(String.init) }
    for word in states where OutboxState(rawValue: word) == nil {
      let words = OutboxState.allCases.map(\.rawValue)
      throw Failure(.usage, "--state: unknown value '\(word)'; write \(words.joined(separator: ", "))")
    }
    return Selection(
      target: target, ids: Array(arguments.operands.dropFirst()), states: states,
      limit: try arguments.count(.count, in: 1...countLimit))
  }

  private static func list(_ context: Context, _ selection: Selection) throws(Failure) -> ExitCode {
    let result = try context.client.call("outbox.list", until: context.deadline, selection.write)
    let entries = RawMembers(result)?.elements("entries") ?? []
    let more = RawMembers(result)?["more"] == Array("true".utf8)
    if context.settings.isReadable {
      context.output.text(table(entries, isEverything: selection.isEverything, context))
    } else {
      for entry in entries { try context.printJSON(entry) }
    }
    if more {
      context.notices.error(
        "there are more than these \(entries.count); -n COUNT shows up to \(countLimit) as far as they fit into one answer, --upstream and --state choose"
      )
    }
    let missing = Set(selection.ids).count - entries.count
    if missing > 0, !more, selection.target == nil, selection.states.isEmpty {
      let subject = missing == 1 ? "1 of the ids is" : "\(missing) of the ids are"
      context.notices.error("\(subject) none of your sends; 'gatewayctl outbox list' shows yours")
    }
    return .done
  }

  private static func table(_ entries: [[UInt8]], isEverything: Bool, _ context: Context) -> String {
    var table = Table(["ID", "UPSTREAM", "EVENT", "STATE", "FOR", "EXPIRES IN", "ATTEMPTS", "REASON"])
    let now = Clock.wallMilliseconds
    for bytes in entries {
      guard let entry = try? JSONValue.parse(bytes.span.bytes, limit: .max) else { continue }
      let state = entry["state"]?.stringValue ?? "?"
      let isQueued = state == OutboxState.queued.rawValue
      table.add([
        .init(entry["id"]?.stringValue ?? "?"),
        .init(entry["upstream"]?.stringValue ?? entry["url"]?.stringValue ?? "-"),
        .init(entry["event"]?.stringValue ?? "?"), .init(state, role(state)),
        .init(span(from: entry["created"]?.integerValue, to: Int(now))),
        .init(isQueued ? span(from: Int(now), to: entry["expires"]?.integerValue) : "-"),
        .init(entry["attempts"]?.integerValue.map(String.init) ?? "-"), .init(entry["reason"]?.stringValue ?? "-"),
      ])
    }
    guard table.isEmpty else { return table.text(context.settings.palette) }
    return isEverything ? "nothing in the outbox\n" : "nothing of that in the outbox\n"
  }

  private static func span(from start: Int?, to end: Int?) -> String {
    guard let start, let end else { return "-" }
    return DurationText.describe(milliseconds: Int64(max(0, end &- start)))
  }

  private static func role(_ state: String) -> Palette.Role? {
    switch OutboxState(rawValue: state) {
    case .sent, .acked: .good
    case .queued: .waiting
    case .cancelled, nil: nil
    case .expired, .refused, .dropped, .lost: .bad
    }
  }

  /// `drain`: the daemon takes nothing new, and answers when everything has left or the time is over.
  static func drain(_ context: Context) throws(Failure) -> ExitCode {
    let deadline = context.deadline
    try context.client.connect(until: deadline)
    let result = try context.client.call("drain", until: deadline.extended(by: Client.grace)) { writer in
      guard let remaining = deadline.remaining else { return }
      writer.key("timeout")
      writer.integer(max(1, remaining.milliseconds))
    }
    let left = RawMembers(result)?.integer("left") ?? "?"
    try context.confirm(result, left == "0" ? "nothing is left" : "\(left) sends are left, and kept")
    return .done
  }
}
