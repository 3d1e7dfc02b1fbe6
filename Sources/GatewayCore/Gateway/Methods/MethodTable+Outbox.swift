/// What is kept on disk, and the stop.
extension MethodTable {
  static let outboxMethods: [LocalMethod] = [
    LocalMethod(
      "outbox.list", "Lists durable sends and what became of them, the oldest first.", right: .status,
      parameters: LocalParameter.optionalTarget + selection + [
        .optional(.limit, .integer(1...10_000), "How many entries at most; 1000 unless given.")
      ],
      result: ResultSchemas.outbox
    ) { params, line throws(LocalError) in
      .outboxList(try readSelection(params, line), limit: try params.integer(.limit, line) ?? 1_000)
    },
    LocalMethod(
      "outbox.cancel", "Takes durable sends back that are not finished.", right: .send,
      parameters: LocalParameter.optionalTarget + neededSelection, result: changed
    ) { params, line throws(LocalError) in .outboxCancel(try readSelection(params, line, isNeeded: true)) },
    LocalMethod(
      "outbox.retry", "Sends again what failed, and connects at once for what waits.", right: .send,
      parameters: LocalParameter.optionalTarget + neededSelection, result: count
    ) { params, line throws(LocalError) in .outboxRetry(try readSelection(params, line, isNeeded: true)) },
    LocalMethod(
      "outbox.purge", "Takes back what is not finished, and forgets what is.", right: .send,
      parameters: LocalParameter.optionalTarget + selection, result: changed
    ) { params, line throws(LocalError) in .outboxPurge(try readSelection(params, line)) },
    LocalMethod(
      "drain", "Takes nothing new any more, and answers when everything has left or the time is over.", right: .admin,
      parameters: [
        .optional(.timeout, .duration(default: nil), "How long to wait, in milliseconds; `limits.stop` unless given.")
      ],
      result: .object([.always("left", .count, "Sends that have not left.")])
    ) { params, line throws(LocalError) in .drain(timeout: try params.duration(.timeout, line)) },
  ]

  private static let countMember = JSONSchema.Member.always("count", .count, "How many sends that concerned.")
  private static let count = JSONSchema.object([countMember])
  /// Of what happens even where the disk does not take it.
  private static let changed = JSONSchema.object([
    countMember,
    .sometimes("saved", .boolean, "False: the disk does not know it yet, and a crash before it does would undo it."),
    .sometimes("reason", .text, "Why not, in a word."), .sometimes("detail", .text, "The same in a sentence."),
  ])

  private static let selection = selection(ids: "Only the sends of these ids.")

  /// Where the call has to say which sends are meant.
  private static let neededSelection = selection(
    ids: "Only the sends of these ids; these, `upstream` or `url` are needed.")

  private static func selection(ids: String) -> [LocalParameter] {
    [
      .optional(.ids, .strings(count: 1...1_000, each: 1...ParameterKind.identifierLimit), ids),
      .optional(
        .states, .strings(count: 1...OutboxState.allCases.count, each: 1...ParameterKind.identifierLimit),
        "Only sends in these states: " + OutboxState.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ") + "."),
    ]
  }

  private static func readSelection(
    _ params: borrowing ParameterValues, _ line: RawSpan, isNeeded: Bool = false
  ) throws(LocalError) -> OutboxSelection {
    var selection = OutboxSelection()
    selection.target = try params.optionalTarget(line)
    selection.ids = try params.strings(.ids, line)
    for word in try params.strings(.states, line) ?? [] {
      guard let state = OutboxState(rawValue: word) else {
        let known = OutboxState.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        throw .invalid("states", "The param \"states\" holds a word that is no state of a send; there are \(known).")
      }
      selection.states = (selection.states ?? []).union([state])
    }
    if isNeeded, selection.target == nil, selection.ids == nil {
      throw .invalid("ids", "\"\(params.method.name)\" needs \"ids\", or an upstream whose sends are meant.")
    }
    return selection
  }
}
