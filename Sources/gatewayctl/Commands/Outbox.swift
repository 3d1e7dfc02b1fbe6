import GatewayCore
import Glibc

/// `outbox list|cancel|retry|purge`.
enum OutboxCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .outbox, operands: "[list|cancel|retry|purge] [ID…]", choices: OutboxVerb.allCases.map(\.rawValue),
    operandCount: 0...(.max),
    summary: "list durable sends, take them back, send them again, forget them",
    details: [
      "Shows and steers what 'send --delivery durable' left with the daemon, of your own user; with the right 'admin' of "
        + "all. list, which may be left out, prints every send and what became of it, on a terminal as a table. cancel takes back what is not "
        + "finished. retry sends again what failed, and connects at once for what waits. purge takes back what is not "
        + "finished and forgets what is, everything unless it is told which. cancel and retry need IDs or --upstream."
    ],
    options: [.init(.upstream, value: "URL", "only sends to this server, a URL or the name of an upstream")]
      + OptionSpecification.ofURL + [
        .init(
          .state, value: "S", choices: OutboxState.allCases.map(\.rawValue),
          "only sends in these states, separated by commas: queued, sent, acked, expired, cancelled, refused, dropped, lost"
        ),
        .init(.count, short: "n", value: "COUNT", "list so many at most; 1000 unless given"),
      ],
    examples: [
      .init("What waits?", "gatewayctl outbox list --state queued"),
      .init("Take back what waits for a server", "gatewayctl outbox cancel --upstream chat"),
      .init("Send again what was not delivered", "gatewayctl outbox retry --upstream chat --state expired,lost"),
    ])

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let word = context.arguments.operands.first ?? OutboxVerb.list.rawValue
    guard let verb = OutboxVerb(rawValue: word) else {
      let words = OutboxVerb.allCases.map(\.rawValue)
      let nearest = NearestName.of(word, among: words).map { "did you mean '\($0)'?" }
      throw Failure(
        .usage,
        "outbox: unknown verb '\(ShownAddress.word(word))'; \(nearest ?? "write \(words.joined(separator: ", "))")")
    }
    if verb != .list, context.arguments.has(.count) {
      throw Failure(
        .usage, "outbox \(verb.rawValue): -n goes with list alone; name ids, or choose with --upstream and --state")
    }
    let selection = try selection(context)
    guard verb != .list else { return try list(context, selection) }
    guard selection.isNarrow || verb == .purge else {
      throw Failure(.usage, "outbox \(verb.rawValue): name ids, or with --upstream the upstream whose sends are meant")
    }
    let result = try context.client.call("outbox.\(verb.rawValue)", until: context.deadline, selection.write)
    let count = RawJSONObject(result)?.integer("count") ?? "?"
    try context.confirm(result, "\(verb.done) \(count) \(count == "1" ? "send" : "sends")")
    if let detail = RawJSONObject(result)?.string("detail") {
      context.diagnostics.error(
        "done, but not on the disk yet, and a crash of the daemon before that undoes it: \(detail)")
    }
    if let count = Int(count) { sayLeftOut(Set(selection.ids).count - count, context) }
    return .done
  }

  /// Says that for so many of the ids that were given nothing was done.
  private static func sayLeftOut(_ count: Int, _ context: Context) {
    guard count > 0 else { return }
    let subject = count == 1 ? "1 id: it is" : "\(count) ids: they are"
    context.diagnostics.error(
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
    let target = arguments.has(.upstream) ? context.target : nil
    // An empty word is a mistake, as of a variable that is empty: left out, it would mean every state.
    let states = arguments.values(.state).flatMap { list in
      list.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }
    for word in states where OutboxState(rawValue: word) == nil {
      let words = OutboxState.allCases.map(\.rawValue)
      throw Failure(
        .usage, "--state: unknown value '\(ShownAddress.word(word))'; write \(words.joined(separator: ", "))")
    }
    return Selection(
      target: target, ids: Array(arguments.operands.dropFirst()), states: states,
      limit: try arguments.count(.count, in: 1...countLimit))
  }

  private static func list(_ context: Context, _ selection: Selection) throws(Failure) -> ExitCode {
    let result = try context.client.call("outbox.list", until: context.deadline, selection.write)
    let entries = RawJSONObject(result)?.elements("entries") ?? []
    let more = RawJSONObject(result)?["more"] == Array("true".utf8)
    if context.settings.isReadable {
      let view = OutboxView(
        now: Clock.wallMilliseconds, palette: context.settings.palette, uid: Int(geteuid()),
        width: context.settings.columns)
      context.output.text(view.table(entries, isEverything: selection.isEverything))
    } else {
      for entry in entries { try context.printJSON(entry) }
    }
    if more {
      context.diagnostics.error(
        "there are more than these \(entries.count); -n COUNT shows up to \(countLimit) as far as they fit into one answer, --upstream and --state choose"
      )
    }
    let missing = Set(selection.ids).count - entries.count
    if missing > 0, !more, selection.target == nil, selection.states.isEmpty {
      let subject = missing == 1 ? "1 of the ids is" : "\(missing) of the ids are"
      context.diagnostics.error("\(subject) none of your sends; 'gatewayctl outbox list' shows yours")
    }
    return .done
  }
}

extension OutboxVerb {
  /// What has been done, for a person.
  fileprivate var done: String {
    switch self {
    case .list: "listed"
    case .cancel: "cancelled"
    case .retry: "queued again"
    case .purge: "forgot"
    }
  }
}
