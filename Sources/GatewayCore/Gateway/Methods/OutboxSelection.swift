/// Which entries of the outbox a call is about; nil does not narrow them.
struct OutboxSelection: Equatable, Sendable {
  var target: CallTarget?
  var ids: [String]?
  var states: Set<OutboxState>?
}

extension OutboxSelection {
  static let parameters = parameters(ids: "Only the sends of these ids.")

  /// Where the call has to say which sends are meant.
  static let neededParameters = parameters(
    ids: "Only the sends of these ids; these, `upstream` or `url` are needed.")

  private static func parameters(ids: String) -> [LocalParameter] {
    [
      .optional(.ids, .strings(count: 1...1_000, each: 1...ParameterKind.identifierLimit), ids),
      .optional(
        .states, .strings(count: 1...OutboxState.allCases.count, each: 1...ParameterKind.identifierLimit),
        "Only sends in these states: " + OutboxState.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ") + "."),
    ]
  }

  /// `isNeeded`: the call has to say which sends are meant.
  init(
    _ params: borrowing ParameterValues, _ line: RawSpan, isNeeded: Bool = false
  ) throws(LocalError) {
    target = try params.optionalTarget(line)
    ids = try params.strings(.ids, line)
    for word in try params.strings(.states, line) ?? [] {
      guard let state = OutboxState(rawValue: word) else {
        let known = OutboxState.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        throw .invalid("states", "The param \"states\" holds a word that is no state of a send; there are \(known).")
      }
      states = (states ?? []).union([state])
    }
    if isNeeded, target == nil, ids == nil {
      throw .invalid("ids", "\"\(params.method.name)\" needs \"ids\", or an upstream whose sends are meant.")
    }
  }

  // MARK: - Results

  private static let countMember = JSONSchema.Member.always("count", .count, "How many sends that concerned.")
  static let count = JSONSchema.object([countMember])
  /// Of what happens even where the disk does not take it.
  static let changed = JSONSchema.object([
    countMember,
    .sometimes("saved", .boolean, "False: the disk does not know it yet, and a crash before it does would undo it."),
    .sometimes("reason", .text, "Why not, in a word."), .sometimes("detail", .text, "The same in a sentence."),
  ])
}
