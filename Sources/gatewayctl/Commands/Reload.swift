import GatewayCore

/// `reload`: every mistake in the configuration on a line of its own.
enum ReloadCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .reload, operands: "", operandCount: 0...0,
    summary: "make the daemon read its configuration again",
    details: [
      "Returns when the new configuration is in force. If it is invalid every mistake is reported, the old one stays, "
        + "and the exit code is 78. What is valid and hardly meant is a warning. Needs the right 'admin'."
    ],
    examples: [.init("After editing", "gatewayctl reload")])

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    switch try context.client.answer(to: "reload", Array("{}".utf8), until: context.deadline) {
    case .success(let result):
      let names = RawJSONObject(result)?.elements("changed") ?? []
      let changed = names.compactMap { try? JSONValue.parse($0.span.bytes).stringValue }
      let leftOut = RawJSONObject(result)?["left_out"].map { " and \(String(decoding: $0, as: UTF8.self)) more" } ?? ""
      let what = changed.isEmpty ? "nothing changed" : "changed: \(changed.joined(separator: ", "))\(leftOut)"
      let takesLinks = RawJSONObject(result)?["takes_links"] == Array("true".utf8)
      let links = takesLinks ? "; this host takes links of its fleet again" : ""
      try context.confirm(result, "the configuration was read again; \(what)\(links)")
      let waiting = (RawJSONObject(result)?.elements("restart") ?? []).compactMap {
        try? JSONValue.parse($0.span.bytes).stringValue
      }
      if !waiting.isEmpty {
        let verb = waiting.count == 1 ? "is" : "are"
        context.diagnostics.error(
          "\(waiting.joined(separator: ", ")) \(verb) used from the next start of the daemon on; restart it")
      }
      for warning in RawJSONObject(result)?.elements("warnings") ?? [] {
        guard let warning = try? JSONValue.parse(warning.span.bytes) else { continue }
        context.diagnostics.error(describe(warning, as: "warning: "))
      }
      return .done
    case .failure(let error) where error.kind == .invalidParams:
      throw invalid(error, context.diagnostics)
    case .failure(let error): throw error.failure
    }
  }

  /// Says every mistake, then what that means.
  private static func invalid(_ error: DaemonError, _ diagnostics: Diagnostics) -> Failure {
    let problems = error.data["problems"]?.elements ?? []
    for problem in problems { diagnostics.error(describe(problem)) }
    guard !problems.isEmpty else { return Failure(.configurationInvalid, error.message) }
    // The last one stands for those that are left out.
    let total = problems.count + (error.data["left_out"]?.integerValue.map { $0 - 1 } ?? 0)
    let count = total == 1 ? "a mistake" : "\(total) mistakes"
    return Failure(
      .configurationInvalid, "the configuration has \(count); correct it, the old one stays in force until then")
  }

  /// `file:line: message`, with what kind of message it is; what is wrong with a file as a whole has the line 0, which is
  /// not said.
  private static func describe(_ problem: JSONValue, as kind: String = "") -> String {
    let line = problem["line"]?.integerValue.map { $0 > 0 ? ":\($0)" : "" } ?? ""
    let place = problem["file"]?.stringValue.map { "\($0)\(line): " } ?? ""
    return place + kind + (problem["message"]?.stringValue ?? problem.stringValue ?? problem.text)
  }

}
