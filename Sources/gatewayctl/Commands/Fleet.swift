import GatewayCore

/// `fleet`, `fleet move UPSTREAM [HOST]`, `fleet leave`, `fleet forget HOST`.
enum FleetCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .fleet, operands: "[move|leave|forget] [UPSTREAM] [HOST]", choices: FleetVerb.allCases.map(\.rawValue),
    operandCount: 0...3,
    summary: "show the hosts that share links, move a link, leave, forget a host",
    details: [
      "Shows the hosts of the fleet and which of them has the link of each upstream: on a terminal, or with --table, as "
        + "tables; otherwise, or with --json, as one JSON object.",
      "move gives the link of UPSTREAM to HOST, or to any other host than the present one, and returns when that has it. "
        + "Where HOST has it already it says so, and does nothing. Any host that may hold may be asked. It needs the right 'admin' on the upstream.",
      "leave gives everything that this host has to others, as before its maintenance; it takes nothing until it is "
        + "restarted or reloaded. It needs the right 'admin'.",
      "forget removes what the fleet keeps of HOST, which is gone for good: not while it lives or has a link, or while its "
        + "durable sends have still to be written. A host that may hold is asked. It needs the right 'admin'.",
    ],
    options: [
      .namespace, .init(.table, "print the tables also where stdout is no terminal, whole and without colour"),
    ],
    examples: [
      .init("Who has the links?", "gatewayctl fleet"),
      .init("Give one to a certain host", "gatewayctl fleet move chat edge-3"),
      .init("Before maintenance of this host", "gatewayctl fleet leave"),
      .init("Come back", "gatewayctl reload"),
      .init("A machine was thrown away", "gatewayctl fleet forget edge-17"),
    ],
    defaultTimeout: .seconds(30))

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let operands = context.arguments.operands
    try context.arguments.refuse(.table, with: .json)
    if context.arguments.has(.table), !operands.isEmpty {
      throw Failure(.usage, "--table goes with 'fleet' alone, which shows the hosts")
    }
    guard let word = operands.first else { return try list(context) }
    guard let verb = FleetVerb(rawValue: word) else {
      let words = FleetVerb.allCases.map(\.rawValue)
      let nearest = NearestName.of(word, among: words).map { "did you mean '\($0)'?" }
      throw Failure(
        .usage,
        "fleet: unknown verb '\(ShownAddress.word(word))'; \(nearest ?? "write \(words.joined(separator: " or "))")")
    }
    switch verb {
    case .move: return try move(context, operands.dropFirst())
    case .leave:
      guard operands.count == 1 else {
        throw Failure(.usage, "fleet leave takes no arguments: it is this host that leaves")
      }
      return try leave(context)
    case .forget: return try forget(context, operands.dropFirst())
    }
  }

  private static func list(_ context: Context) throws(Failure) -> ExitCode {
    let result = try context.client.call("fleet.list", until: context.deadline)
    guard context.settings.isReadable || context.arguments.has(.table) else {
      try context.printJSON(result)
      return .done
    }
    guard let document = try? JSONValue.parse(result.span.bytes, limit: .max) else {
      throw Failure(.protocolMismatch, "the daemon's answer is no list of a fleet; install the same version of both")
    }
    let view = FleetView(
      document: document, now: Clock.wallMilliseconds, palette: context.settings.palette,
      width: context.settings.columns)
    context.output.text(view.text)
    return .done
  }

  private static func move(_ context: Context, _ operands: ArraySlice<String>) throws(Failure) -> ExitCode {
    guard let upstream = operands.first else {
      throw Failure(
        .usage, "fleet move: name the upstream, and perhaps the host: 'gatewayctl fleet move UPSTREAM [HOST]'")
    }
    let words: [(String, String?)] = [
      ("upstream", upstream), ("namespace", context.arguments.value(.namespace)), ("host", operands.dropFirst().first),
    ]
    let result = try context.client.call("fleet.move", until: context.deadline) { writer in
      for case (let name, let value?) in words {
        writer.key(name)
        writer.string(value)
      }
    }
    let members = RawJSONObject(result)
    let already = members?["already"] == Array("true".utf8) ? " already" : ""
    try context.confirm(result, "\(members?.string("holder") ?? "?") has the link of \(upstream)\(already)")
    return .done
  }

  private static func leave(_ context: Context) throws(Failure) -> ExitCode {
    let result = try context.client.call("fleet.leave", until: context.deadline)
    let left = (RawJSONObject(result)?.elements("left") ?? []).compactMap { RawJSONObject($0)?.string("upstream") }
    try context.confirm(
      result,
      left.isEmpty
        ? "this host had no link, and takes none until it is restarted or reloaded"
        : "this host has given up \(left.joined(separator: ", ")), and takes no link until it is restarted or reloaded")
    return .done
  }

  private static func forget(_ context: Context, _ operands: ArraySlice<String>) throws(Failure) -> ExitCode {
    guard let host = operands.first, operands.count == 1 else {
      throw Failure(.usage, "fleet forget: name one host: 'gatewayctl fleet forget HOST'")
    }
    let result = try context.client.call("fleet.forget", until: context.deadline) { writer in
      writer.key("host")
      writer.string(host)
    }
    try context.confirm(result, "the fleet has forgotten \(host)")
    return .done
  }
}
