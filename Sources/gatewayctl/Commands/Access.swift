import GatewayCore

/// `access --as USER URL [EVENT]`: what a user may do with an upstream, and which rule says so.
enum AccessCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .access, operands: "URL [EVENT]", operandCount: 1...2,
    summary: "tell what a user may do, and which rule says so",
    details: [
      "Asks the daemon for every right, or with --right for one: with EVENT whether the user has it on that event, "
        + "otherwise whether on any. On a terminal a table; otherwise, or with --json, one JSON object per line. Needs the "
        + "right 'admin'.",
      CommandSpecification.urlExplained,
      "Ends with exit 77 where what was asked for is not allowed: the right, or without --right all of them.",
    ],
    options: OptionSpecification.ofURL + [
      .init(.asUser, value: "USER", "whose rights: a user's name or number; needed"),
      .init(
        .right, value: "R", choices: AccessVerb.allCases.map(\.rawValue), "status, subscribe, send, request or admin"),
    ],
    examples: [
      .init("May backup send say?", "gatewayctl access --as backup --right send chat say"),
      .init("What may it do at all?", "gatewayctl access --as backup chat"),
    ])

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    guard let user = context.arguments.value(.asUser) else {
      throw Failure(.usage, "access needs --as USER, whose rights are asked for")
    }
    let right = try context.arguments.choice(.right, of: AccessVerb.self)
    let deadline = context.deadline
    var table = Table(["RIGHT", "ALLOWED", "RULE"], wrapped: true)
    var isAllowed = false
    for right in right.map({ [$0] }) ?? AccessVerb.allCases {
      let result = try explain(right, for: user, context, until: deadline)
      guard let answer = try? JSONValue.parse(result.span.bytes, limit: .max), let says = answer["allowed"]?.boolValue
      else {
        throw Failure(.protocolMismatch, "the daemon's answer explains nothing; install the same version of both")
      }
      isAllowed = isAllowed || says
      if context.settings.isReadable {
        table.add([.init(right.rawValue), .init(says ? "yes" : "no"), .init(answer["rule"]?.stringValue ?? "?")])
      } else {
        try context.printJSON(Array(#"{"right":"\#(right.rawValue)","#.utf8) + result.dropFirst())
      }
    }
    if context.settings.isReadable {
      context.output.text(table.text(context.settings.palette, width: context.settings.columns))
    }
    return isAllowed ? .done : .permissionDenied
  }

  private static func explain(
    _ right: AccessVerb, for user: String, _ context: Context, until deadline: Deadline
  ) throws(Failure) -> [UInt8] {
    try context.client.call("access.explain", until: deadline) { writer in
      func member(_ name: String, _ text: String) {
        writer.key(name)
        writer.string(text)
      }
      if let uid = UInt32(user) {
        writer.key("uid")
        writer.integer(Int64(uid))
      } else {
        member("user", user)
      }
      context.target.write(into: &writer)
      if context.arguments.operands.count > 1 { member("event", context.arguments.operands[1]) }
      member("right", right.rawValue)
    }
  }
}
