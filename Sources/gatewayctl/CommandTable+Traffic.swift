import GatewayCore

/// The commands that move messages.
extension CommandTable {
  static let traffic: [CommandSpecification] = [send, request, subscribe, serve]

  private static let namespace = OptionSpecification(
    .namespace, value: "NS", "the Socket.IO namespace, where the URL has no path")
  private static let raw = OptionSpecification(.raw, "take every ARG as text, never as JSON")
  private static let binary = OptionSpecification(
    .binary, value: "FILE", "append the bytes of FILE as one binary argument; may be repeated")
  private static let key = OptionSpecification(
    .key, value: "K", "a name of your own for this send: repeated within 24 hours, it is not sent twice")
  private static let noQueue = OptionSpecification(
    .noQueue, "fail at once with exit 69 unless the upstream is connected")
  private static let noCompress = OptionSpecification(
    .noCompress, "leave the event uncompressed, as for what is compressed or random already")
  private static let ttl = OptionSpecification(
    .ttl, value: "DUR", "give up sending after so long; 1h unless the daemon is configured otherwise")
  private static let retries = OptionSpecification(
    .retries, value: "N", "write it up to N times more until the server acknowledges it, also over reconnects")
  private static let ackTimeout = OptionSpecification(
    .ackTimeout, value: "DUR", "how long each write waits for its acknowledgement; 3s with --retries unless given")
  private static let coalesce = OptionSpecification(
    .coalesce, value: "K", "take the place of an earlier send with the same K that still waits in the queue")
  private static let kwargs = OptionSpecification(
    .kwargs, value: "OBJECT", "keyword arguments, a JSON object, for upstreams that have such; @FILE and - as for ARG")
  private static let noReconnect = OptionSpecification(
    .noReconnect, "end with exit 69 when the daemon closes the connection")

  private static let arguments =
    "Each ARG is sent as JSON if it is JSON, otherwise as text: 3 is a number, '\"3\"' and hello are text. One that "
    + "begins with {, [ or \" has to be JSON. @FILE reads JSON from a file, - from standard input."
  private static let target =
    "URL is the server's address, whose path is the Socket.IO namespace (https://chat.example/admin is namespace "
    + "/admin), or the name of an upstream in the daemon's configuration."

  private static let send = CommandSpecification(
    name: .send, operands: "URL EVENT [ARG…]", operandCount: 2...(.max),
    summary: "send an event to a server",
    details: [
      "Hands one event to the daemon and returns as soon as the daemon has it. While the server is not reachable the "
        + "daemon keeps the event and sends it later. Prints the send's id and state, with -q nothing.",
      target, arguments,
    ],
    options: [
      namespace,
      .init(
        .delivery, value: "LEVEL", choices: DeliveryLevel.allCases.map(\.rawValue),
        "when to return: accepted (the daemon has it; the default), durable (it is on the disk), sent (written to the server), acked (the server "
          + "acknowledged it)"),
      ttl, key, noQueue, noCompress, retries, ackTimeout, coalesce, kwargs, binary, raw,
      .init(.lines, "read standard input and send one event per line; each line is a JSON array of arguments"),
    ],
    examples: [
      .init("Send a chat message", #"gatewayctl send https://chat.example message "hello there""#),
      .init("Send an object", #"gatewayctl send https://chat.example move '{"x":3,"y":4}'"#),
      .init("Wait until the server has acknowledged", "gatewayctl send --delivery acked chat save @draft.json"),
      .init("Let it survive a crash", "gatewayctl send --delivery durable chat paid 4711"),
      .init("Be sure that it arrives, perhaps twice", "gatewayctl send --retries 5 chat paid 4711"),
      .init("Send many", "generate | gatewayctl send --lines chat sample"),
    ])

  private static let request = CommandSpecification(
    name: .request, operands: "URL EVENT [ARG…]", operandCount: 2...(.max),
    summary: "send an event, wait for the server's answer and print it",
    details: [
      "Sends one event and waits for its acknowledgement. The arguments of the acknowledgement are printed, one JSON "
        + "value per line; keyword arguments follow as one object. What the server answers in parts is printed as it "
        + "comes. Nothing is left behind: when the time is up the request is taken back if it was not sent.",
      target, arguments,
    ],
    options: [namespace, ttl, noQueue, noCompress, key, retries, ackTimeout, coalesce, kwargs, binary, raw],
    examples: [
      .init("Ask a question", "gatewayctl request https://status.example getMonitor 3"),
      .init("Use the answer", "gatewayctl request chat whoami | jq -r .name"),
      .init("Wait longer", "gatewayctl request --timeout 1m chat export"),
    ],
    defaultTimeout: .seconds(10))

  private static let subscribe = CommandSpecification(
    name: .subscribe, operands: "URL [EVENT…]", operandCount: 1...(.max),
    summary: "print a server's events as they come",
    details: [
      #"Prints one event per line: {"event":…,"args":…,"seq":…,"epoch":…,"time":…}. EVENT may be a pattern with * and "#
        + "?; without any EVENT all events are printed. Goes on until it is interrupted, over losses of the server and "
        + "restarts of the daemon; what was missed meanwhile is made up for, or reported on stderr as a gap.",
      target,
    ],
    options: [
      namespace,
      .init(.count, short: "n", value: "COUNT", "end after so many events"),
      .init(.for, value: "DUR", "end after so long: exit 124 if -n was given and not reached, else 0"),
      .init(.since, value: "EPOCH:SEQ", "begin after this event, as far as the daemon remembers"),
      .init(.last, value: "N", "begin with the last N events that the daemon remembers"),
      .init(.state, #"also print the connection's states, as {"state":…}"#),
      .init(.argsOnly, "print only the array of arguments"),
      .init(
        .exec, value: "CMD",
        "instead of printing, run the shell command CMD for each event, with the event on its standard input and "
          + "GATEWAY_EVENT, GATEWAY_SEQ, GATEWAY_EPOCH, GATEWAY_TIME and GATEWAY_URL in its environment"),
      .init(
        .onGap, value: "warn|fail", choices: SubscriptionLoop.GapPolicy.allCases.map(\.rawValue),
        "what to do when events were missed: say so (the default), or end with exit 74"),
      noReconnect,
    ],
    examples: [
      .init("Watch everything", "gatewayctl subscribe https://chat.example"),
      .init("Wait for one event", "gatewayctl subscribe -n 1 --for 1m chat ready"),
      .init("Act on events", "gatewayctl subscribe --exec 'notify-send \"$GATEWAY_EVENT\"' chat 'alert.*'"),
      .init("Go on where you left off", "gatewayctl subscribe --since e7:4100 chat"),
    ],
    defaultTimeout: nil)

  private static let serve = CommandSpecification(
    name: .serve, operands: "URL EVENT -- CMD…", operandCount: 3...(.max),
    summary: "answer a server's requests with a command",
    details: [
      "For each event whose server waits for an acknowledgement, runs CMD with the event's arguments, a JSON array, on "
        + "its standard input. What CMD prints, one JSON value, is sent back as the acknowledgement's one argument; "
        + "nothing printed acknowledges without arguments. CMD is run directly, not by a shell, and finds GATEWAY_EVENT, "
        + "GATEWAY_SEQ, GATEWAY_EPOCH, GATEWAY_TIME and GATEWAY_URL in its environment. If CMD fails or prints "
        + "something else, that is reported on stderr and the server gets no answer.",
      target,
    ],
    options: [
      namespace,
      .init(.args, "CMD prints a JSON array of all the acknowledgement's arguments"),
      .init(
        .error, value: "NAME",
        "when CMD fails, answer with the error NAME, where the upstream has such; what CMD printed goes with it"),
      .init(.parallel, value: "N", "run up to N commands at a time; 1 unless given"),
      noReconnect,
    ],
    examples: [
      .init(
        "Tell the server this machine's load", "gatewayctl serve https://fleet.example load -- cut -c 1-4 /proc/loadavg"
      ),
      .init("Answer with a script", "gatewayctl serve --parallel 4 fleet inventory -- /usr/local/bin/inventory"),
    ],
    defaultTimeout: nil)
}
