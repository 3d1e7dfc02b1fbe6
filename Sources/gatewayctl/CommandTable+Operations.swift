import GatewayCore

/// The commands that look at the daemon and steer it.
extension CommandTable {
  static let operations: [CommandSpecification] = [
    status, connections, clients, wait, doctor, trace, outbox, reconnect, disconnect, release, reload, drain, ping,
    call, introspect, completion, version, help,
  ]

  private static let namespace = OptionSpecification(
    .namespace, value: "NS", "the Socket.IO namespace, where the URL has no path")

  private static let status = CommandSpecification(
    name: .status, operands: "[URL]", operandCount: 0...1,
    summary: "show the daemon, its connections and why they are down",
    details: [
      "On a terminal a table; otherwise, or with --json, everything the daemon tells, as one JSON object. With a URL or "
        + "the name of an upstream only what concerns that one."
    ],
    options: [namespace],
    examples: [
      .init("Look", "gatewayctl status"),
      .init("Why is it down?", "gatewayctl status --json chat | jq -r '.connections[].detail'"),
    ])

  private static let connections = CommandSpecification(
    name: .connections, operands: "", operandCount: 0...0,
    summary: "list the connections to servers",
    details: ["On a terminal a table; otherwise, or with --json, one JSON object per line."],
    examples: [
      .init("Which are connected?", #"gatewayctl connections --json | jq -r 'select(.state=="connected").url'"#)
    ])

  private static let clients = CommandSpecification(
    name: .clients, operands: "", operandCount: 0...0,
    summary: "list the local programs that use the daemon",
    details: [
      "On a terminal a table; otherwise, or with --json, one JSON object per line. Without the right 'admin' only "
        + "programs of your own user are listed."
    ],
    examples: [.init("Look", "gatewayctl clients")])

  private static let wait = CommandSpecification(
    name: .wait, operands: "URL", operandCount: 1...1,
    summary: "wait until a connection is in a state",
    details: [
      "Returns as soon as the connection is in the state, which is connected unless --state names another; exit 124 "
        + "when the time is up. Waiting is using: the daemon connects if nobody else does."
    ],
    options: [
      namespace,
      .init(
        .state, value: "S", choices: ConnectionState.allCases.map(\.rawValue),
        "created, connected (the default), disconnected, reconnecting or released"),
    ],
    examples: [.init("Before a backup", "gatewayctl wait --timeout 1m chat && backup")])

  private static let doctor = CommandSpecification(
    name: .doctor, operands: "URL", operandCount: 1...1,
    summary: "find out why a server cannot be used",
    details: [
      "Walks through name, TCP, proxy, TLS, HTTP path, Engine.IO, WebSocket, sticky sessions, namespace, credentials and "
        + "round trip, and says at each step what was seen, what is wrong and what to do. The daemon does it, with its "
        + "view of the network and its secrets, on connections of its own. On a terminal readable lines; otherwise, or "
        + #"with --json, {"step":…,"verdict":…,"code":…,"seen":…,"advice":…,"took":…} for each step."#,
      "Exit 0 if it works, 73 if the server refuses, 76 if it speaks another protocol, 124 if something took too long, "
        + "otherwise 69.",
    ],
    options: [namespace],
    examples: [
      .init("Look", "gatewayctl doctor https://chat.example"),
      .init("Only what is wrong", "gatewayctl doctor --json chat | jq -r 'select(.verdict==\"failed\").advice'"),
    ],
    defaultTimeout: .seconds(30))

  private static let trace = CommandSpecification(
    name: .trace, operands: "URL", operandCount: 1...1,
    summary: "show every packet of a connection, in words",
    details: [
      "Shows dialling, handshake, heartbeat and the packets of both directions as they come. On a terminal one readable "
        + #"line for each; otherwise, or with --json, {"time":…,"direction":…,"layer":…,"text":…}. Goes on until it is "#
        + "interrupted. It only looks: the daemon neither connects for it nor stays connected. Secrets are never shown. "
        + "Needs the right 'admin'."
    ],
    options: [
      namespace,
      .init(.payloads, "also show payloads, with the secrets that the daemon knows replaced"),
      .init(.count, short: "n", value: "COUNT", "end after so many packets"),
      .init(.for, value: "DUR", "end after so long: exit 124 if -n was given and not reached, else 0"),
    ],
    examples: [
      .init("Watch", "gatewayctl trace chat"),
      .init("What is sent?", #"gatewayctl trace --payloads --json chat | jq -r 'select(.direction=="out").payload'"#),
    ],
    defaultTimeout: nil)

  private static let reconnect = CommandSpecification(
    name: .reconnect, operands: "URL", operandCount: 1...1,
    summary: "connect again now, also after 'disconnect'",
    details: ["Starts an attempt at once instead of waiting for the next one. Needs the right 'admin'."],
    options: [namespace],
    examples: [.init("After repairing the server", "gatewayctl reconnect chat")])

  private static let disconnect = CommandSpecification(
    name: .disconnect, operands: "URL", operandCount: 1...1,
    summary: "close a connection and keep it closed until 'reconnect'",
    details: ["What is queued stays queued. Needs the right 'admin'."],
    options: [namespace],
    examples: [.init("Before maintenance", "gatewayctl disconnect chat")])

  private static let release = CommandSpecification(
    name: .release, operands: "URL", operandCount: 1...1,
    summary: "forget a connection that nobody uses",
    details: ["Only for a connection that is disconnected and not in use. Needs the right 'admin'."],
    options: [namespace],
    examples: [.init("Tidy up", "gatewayctl release https://old.example")])

  private static let outbox = CommandSpecification(
    name: .outbox, operands: "list|cancel|retry|purge [ID…]", choices: OutboxCommand.Verb.allCases.map(\.rawValue),
    operandCount: 1...(.max),
    summary: "list durable sends, take them back, send them again, forget them",
    details: [
      "Shows and steers what 'send --delivery durable' left with the daemon, of your own user; with the right 'admin' of "
        + "all. list prints every send and what became of it, on a terminal as a table. cancel takes back what is not "
        + "finished. retry sends again what failed, and connects at once for what waits. purge takes back what is not "
        + "finished and forgets what is, everything unless it is told which. cancel and retry need IDs or --upstream."
    ],
    options: [
      .init(.upstream, value: "URL", "only sends to this server, a URL or the name of an upstream"), namespace,
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

  private static let drain = CommandSpecification(
    name: .drain, operands: "", operandCount: 0...0,
    summary: "take nothing new any more and let everything leave",
    details: [
      "From now on until it is started again the daemon refuses new sends and subscriptions. Returns when everything has "
        + "left or the time is over, and prints how many sends are left; they are kept. Needs the right 'admin'."
    ],
    examples: [.init("Before maintenance", "gatewayctl drain --timeout 1m && systemctl stop gatewayd")])

  private static let reload = CommandSpecification(
    name: .reload, operands: "", operandCount: 0...0,
    summary: "make the daemon read its configuration again",
    details: [
      "Returns when the new configuration is in force. If it is invalid every mistake is reported, the old one stays, "
        + "and the exit code is 78. Needs the right 'admin'."
    ],
    examples: [.init("After editing", "gatewayctl reload")])

  private static let ping = CommandSpecification(
    name: .ping, operands: "", operandCount: 0...0,
    summary: "ask whether the daemon answers",
    details: [#"Prints how long the answer took; as JSON {"rtt":…} in milliseconds."#],
    examples: [.init("In a health check", "gatewayctl ping -q --timeout 2s")])

  private static let call = CommandSpecification(
    name: .call, operands: "METHOD [JSON]", operandCount: 1...2,
    summary: "call any method of the daemon and print its result",
    details: [
      "For what has no command of its own. JSON is the object of parameters; @FILE reads it from a file, - from standard "
        + "input. 'gatewayctl introspect' lists the methods."
    ],
    examples: [.init("Who am I to the daemon?", "gatewayctl call hello")])

  private static let introspect = CommandSpecification(
    name: .introspect, operands: "[METHOD]", operandCount: 0...1,
    summary: "list the daemon's methods, or explain one",
    details: ["On a terminal a readable list; otherwise, or with --json, the JSON Schemas that the daemon gives."],
    examples: [.init("What can subscribe do?", "gatewayctl introspect subscribe")])

  private static let completion = CommandSpecification(
    name: .completion, operands: "bash", choices: Completion.Shell.allCases.map(\.rawValue), operandCount: 1...1,
    summary: "print a script that completes command lines in a shell",
    details: [
      "The script knows the commands, their options and the words that some of them take. An installation has it already; "
        + "otherwise load it where the shell begins."
    ],
    examples: [
      .init(
        "For yourself",
        "gatewayctl completion bash | install -D /dev/stdin ~/.local/share/bash-completion/completions/gatewayctl")
    ])

  private static let version = CommandSpecification(
    name: .version, operands: "", operandCount: 0...0,
    summary: "print the version of gatewayctl",
    details: ["'gatewayctl status' shows the version of the daemon that runs."],
    examples: [.init("Look", "gatewayctl version")])

  private static let help = CommandSpecification(
    name: .help, operands: "[COMMAND]", choices: CommandName.allCases.map(\.rawValue), operandCount: 0...1,
    summary: "list the commands, or explain one",
    details: ["The same as 'gatewayctl COMMAND --help'."],
    examples: [.init("About subscribe", "gatewayctl help subscribe")])
}
