import GatewayCore

/// The commands that are one call to the daemon and one line of output.
enum OperationCommands {
  /// `reconnect`, `disconnect`, `release`.
  static func steer(_ context: Context) throws(Failure) -> ExitCode {
    let method = context.arguments.command.rawValue
    let result = try context.client.call(method, until: context.deadline, context.target.write)
    try context.confirm(result, "\(context.target.name) is \(state(in: result))")
    return .done
  }

  /// `wait`: the daemon is told for how long, so that its own answer comes before our deadline.
  static func wait(_ context: Context) throws(Failure) -> ExitCode {
    let state = try context.arguments.choice(.state, of: ConnectionState.self) ?? .connected
    let deadline = context.deadline
    try context.client.connect(until: deadline)
    context.notices.detail("waiting for \(context.target.name) to be \(state.rawValue)")
    let result = try context.client.call("wait", until: deadline.extended(by: Client.grace)) { writer in
      context.target.write(into: &writer)
      writer.key("state")
      writer.string(state.rawValue)
      guard let remaining = deadline.remaining else { return }
      writer.key("timeout")
      writer.integer(max(1, remaining.milliseconds))
    }
    try context.confirm(result, "\(context.target.name) is \(self.state(in: result))")
    return .done
  }

  private static func state(in result: [UInt8]) -> String { RawMembers(result)?.string("state") ?? "?" }

  /// `ping`: how long the answer took, in milliseconds.
  static func ping(_ context: Context) throws(Failure) -> ExitCode {
    let deadline = context.deadline
    try context.client.connect(until: deadline)
    let start = Clock.now
    _ = try context.client.call("ping", until: deadline)
    let rtt = Double((Clock.now - start).nanoseconds / 1000) / 1000
    let result = Client.object { writer in
      writer.key("rtt")
      writer.number(rtt)
    }
    try context.confirm(result, "the daemon answered in \(rtt) ms")
    return .done
  }

  /// `call METHOD [JSON]`: the raw result.
  static func call(_ context: Context) throws(Failure) -> ExitCode {
    let operands = context.arguments.operands
    let method = operands.first ?? ""
    let params = operands.count > 1 ? try parameters(operands[1]) : Array("{}".utf8)
    switch try context.client.answer(to: method, params, until: context.deadline) {
    case .success(let result): try context.printJSON(result)
    case .failure(let error): throw error.failure(ofCall: method)
    }
    return .done
  }

  private static func parameters(_ word: String) throws(Failure) -> [UInt8] {
    let advice = "write an object like '{\"url\":\"https://chat.example\"}'"
    let file = word == "-" ? "-" : word.hasPrefix("@") ? String(word.dropFirst()) : nil
    let text = if let file { try InputFile.read(file) } else { Array(word.utf8) }
    return try PayloadArguments.json(text, named: file ?? "what stands behind METHOD", advice: advice)
  }

  /// `reload`: every mistake in the configuration on a line of its own.
  static func reload(_ context: Context) throws(Failure) -> ExitCode {
    switch try context.client.answer(to: "reload", Array("{}".utf8), until: context.deadline) {
    case .success(let result):
      let names = RawMembers(result)?.elements("changed") ?? []
      let changed = names.compactMap { try? JSONValue.parse($0.span.bytes).stringValue }
      let what = changed.isEmpty ? "nothing changed" : "changed: \(changed.joined(separator: ", "))"
      try context.confirm(result, "the configuration was read again; \(what)")
      for table in changed where ["[socket]", "[state]"].contains(table) {
        context.notices.error("\(table) is used from the next start of the daemon on; restart it")
      }
      return .done
    case .failure(let error) where error.kind == .invalidParams:
      throw invalid(error, context.notices)
    case .failure(let error): throw error.failure
    }
  }

  /// Says every mistake, then what that means.
  private static func invalid(_ error: DaemonError, _ notices: Notices) -> Failure {
    let problems = error.data["problems"]?.elements ?? []
    for problem in problems { notices.error(describe(problem)) }
    guard !problems.isEmpty else { return Failure(.configurationInvalid, error.message) }
    let count = problems.count == 1 ? "a mistake" : "\(problems.count) mistakes"
    return Failure(
      .configurationInvalid, "the configuration has \(count); correct it, the old one stays in force until then")
  }

  /// `file:line: message`.
  private static func describe(_ problem: JSONValue) -> String {
    let line = problem["line"]?.integerValue.map { ":\($0)" } ?? ""
    let place = problem["file"]?.stringValue.map { "\($0)\(line): " } ?? ""
    return place + (problem["message"]?.stringValue ?? problem.stringValue ?? problem.text)
  }

  /// `completion bash`.
  static func completion(_ context: Context) throws(Failure) -> ExitCode {
    let word = context.arguments.operands.first ?? ""
    guard let shell = Completion.Shell(rawValue: word) else {
      let words = Completion.Shell.allCases.map(\.rawValue).joined(separator: " or ")
      throw Failure(.usage, "completion: unknown shell '\(word)'; write \(words)")
    }
    context.output.text(Completion.script(for: shell))
    return .done
  }

  /// `version`: text, as every program prints it, unless `--json`.
  static func version(_ context: Context) throws(Failure) -> ExitCode {
    guard context.settings.json else {
      context.output.text("gatewayctl \(GatewayVersion.current)\n")
      return .done
    }
    try context.output.line(Array(#"{"version":"\#(GatewayVersion.current)"}"#.utf8))
    return .done
  }
}
