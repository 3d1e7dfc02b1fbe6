import GatewayCore
import Glibc

/// `top`: the daemon's statistics, once a second, until it is told to stop.
struct TopCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .top, operands: "", operandCount: 0...0,
    summary: "show what the daemon does, once a second",
    details: [
      "On a terminal a view that is drawn again each second: the daemon, its connections with their events per second, and "
        + "the programs that read too slowly. Keys: n i o p w h r s sort by name, in, out, ping, queue, history, "
        + "reconnects, subscriptions; the arrows select a connection, d examines it as 'doctor' does, t traces it, and any "
        + "key comes back from there; q ends. A daemon that goes away is waited for.",
      "Into a pipe or a file, or with -n 1, pages of plain text, one unless -n says more; with --json each is the daemon's "
        + "statistics on one line.",
    ],
    options: [.init(.count, short: "n", value: "COUNT", "end after so many pages")],
    examples: [
      .init("Watch", "gatewayctl top"),
      .init("Note it down", "gatewayctl top -n 1 | tee -a report.txt"),
    ],
    defaultTimeout: .seconds(1))

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let count = try context.arguments.count(.count, in: 1...(.max))
    if context.settings.isReadable, count != 1 {
      let view = TopScreen(context, count: count)
      defer { Screen.restore() }
      try view.run()
    } else {
      try printPages(count ?? 1, context)
    }
    return .done
  }

  /// Rates need two looks, so that the first page comes after a second.
  private static func printPages(_ count: Int, _ context: Context) throws(Failure) {
    var before = try TopSample(context)
    for number in 1...count {
      let next = Deadline.after(.seconds(1))
      while !next.hasPassed { _ = poll(nil, 0, next.pollTimeout) }
      let now = try TopSample(context)
      if context.settings.json {
        try context.printJSON(now.text)
      } else {
        let view = now.view(
          before: before, palette: Palette(isColored: false), width: context.settings.columns, order: .name)
        context.output.text((number > 1 ? "\n" : "") + view.header() + "\n" + view.table(view.rows()))
        context.output.text(view.slowClients(atMost: .max))
      }
      try context.output.flushOrEnd()
      before = now
    }
  }
}

/// What the daemon says of itself at one moment.
private struct TopSample {
  /// The answer to `stats`, as it came.
  let text: [UInt8]
  private let stats: JSONValue
  private let status: JSONValue?

  /// With more programs than this the status, which lists them, is left out: it is not made for every second.
  private static let clientLimit = 500

  init(_ context: Context) throws(Failure) {
    text = try context.client.call("stats", until: context.deadline)
    stats = try Self.parsed(text)
    let clients = stats["daemon"]?["clients"]?["count"]?.integerValue ?? 0
    status =
      clients <= Self.clientLimit
      ? try Self.parsed(try context.client.call("status", until: context.deadline)) : nil
  }

  private static func parsed(_ text: [UInt8]) throws(Failure) -> JSONValue {
    guard let value = try? JSONValue.parse(text.span.bytes, limit: .max) else {
      throw Failure(.protocolMismatch, "the daemon's answer is no status; install the same version of both")
    }
    return value
  }

  func view(before: TopSample?, palette: Palette, width: Int?, order: TopView.Order) -> TopView {
    TopView(stats: stats, before: before?.stats, status: status, palette: palette, width: width, order: order)
  }
}

/// The view on a terminal: draws pages, takes keys, and follows the terminal's size.
private final class TopScreen {
  private let context: Context
  private let count: Int?
  private var order = TopView.Order.name
  private var selected: String?
  private var now: TopSample?
  private var before: TopSample?
  /// Why there is nothing newer.
  private var problem: String?
  private var drawn = 0
  private var isDone = false

  private static let keys = "q quit  arrows select  t trace  d doctor  sort: "

  init(_ context: Context, count: Int?) {
    self.context = context
    self.count = count
  }

  func run() throws(Failure) {
    try Signals.watchTerminal()
    try Signals.watchChildren()
    Screen.enter()
    while !isDone {
      let next = Deadline.after(.seconds(1))
      try look()
      try draw()
      drawn += 1
      if count.map({ drawn >= $0 }) ?? false { return }
      while !isDone, !next.hasPassed { try wait(next) }
    }
  }

  /// Asks the daemon. One that is away or stuck is a line of the view, and asked again with the next page.
  private func look() throws(Failure) {
    do throws(Failure) {
      try context.client.noticeLoss()
      if !context.client.isOpen, let reason = try context.client.attempt() {
        problem = "no daemon answers at \(context.client.path): \(reason); waiting for it"
        return
      }
      let sample = try TopSample(context)
      (before, now, problem) = (now, sample, nil)
    } catch {
      guard error.code == .unavailable || error.code == .timedOut || error.code == .tryAgain else { throw error }
      problem = "\(error.message ?? "the daemon does not answer"); waiting for it"
    }
  }

  // MARK: Drawing

  private var view: TopView? {
    now?.view(before: before, palette: context.settings.palette, width: size.columns, order: order)
  }

  private var size: (rows: Int, columns: Int) {
    let size = TerminalSize.of(STDOUT_FILENO) ?? (24, 80)
    return (max(size.rows, 4), max(size.columns, TextWidth.least))
  }

  private func draw() throws(Failure) {
    let size = size
    let palette = context.settings.palette
    var head: [String] = []
    if let problem {
      head += TextWidth.lines(of: TextWidth.escaped(problem), width: size.columns).map { palette.paint($0, .bad) }
    }
    var body: [String] = []
    if let view {
      let slow = Self.lines(view.slowClients(atMost: 3))
      head += Self.lines(view.header()) + slow + [""]
      let rows = view.rows()
      let place = rows.firstIndex { $0.id == selected } ?? 0
      if !rows.isEmpty { selected = rows[place].id }
      let room = max(1, size.rows - head.count - 2)
      let first = max(0, place - room + 1)
      body = Self.lines(view.table(rows.dropFirst(first).prefix(room), selected: selected))
    }
    let keys = Self.keys + TopView.Order.allCases.map { "\($0.rawValue) \($0.title)" }.joined(separator: " ")
    let foot = palette.paint(TextWidth.elided(keys, to: size.columns - 1), .faint)
    context.output.text(Screen.frame(Array((head + body).prefix(size.rows - 1)) + [foot]))
    try context.output.flushOrEnd()
  }

  private static func lines(_ text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: true).map(String.init)
  }

  // MARK: Keys and signals

  private func wait(_ end: Deadline) throws(Failure) {
    var entries = [
      pollfd(fd: Screen.keys, events: Int16(POLLIN), revents: 0),
      pollfd(fd: Signals.terminalPipe, events: Int16(POLLIN), revents: 0),
    ]
    guard poll(&entries, 2, end.pollTimeout) > 0 else { return }
    if entries[1].revents != 0 {
      if Signals.takeTerminalSignals().contains(SIGTSTP) { Signals.stop(leaving: Screen.restore) }
      Screen.enter()
      try draw()
    }
    if entries[0].revents != 0 { try take(Self.readKeys()) }
  }

  private static func readKeys() -> String {
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(STDIN_FILENO, &bytes, bytes.count)
    if count <= 0, errno != EINTR || count == 0 { Screen.loseKeys() }
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  private func take(_ keys: String) throws(Failure) {
    var rest = keys[...]
    while let key = rest.popFirst() {
      // The arrows of a terminal in its ordinary and in its application mode.
      if key == "\u{1b}", let mark = rest.first, "[O".contains(mark) {
        rest = rest.dropFirst()
        switch rest.popFirst() {
        case "A": move(-1)
        case "B": move(1)
        default: break
        }
      } else if key == "q" {
        isDone = true
        return
      } else if key == "t" {
        try show("trace")
      } else if key == "d" {
        try show("doctor")
      } else if let order = TopView.Order(rawValue: key) {
        self.order = order
      }
    }
    try draw()
  }

  private func move(_ step: Int) {
    guard let rows = view?.rows(), let place = rows.firstIndex(where: { $0.id == selected }) else { return }
    selected = rows[min(max(0, place + step), rows.count - 1)].id
  }

  // MARK: Another command for the selected connection

  /// Leaves the view for another command of this program, until it has ended and a key is pressed, or until a key ends it.
  private func show(_ command: String) throws(Failure) {
    guard let row = view?.rows().first(where: { $0.id == selected }) else { return }
    Screen.leave()
    let words = ["--socket", context.client.path, command, "--connection", row.id, "--", row.name]
    context.output.text("\(command) \(TextWidth.escaped(row.name)): any key comes back\n")
    try context.output.flushOrEnd()
    if let child = Signals.startInForeground("/proc/self/exe", ["gatewayctl"] + words) {
      var isPressed = false
      while !isPressed, !child.hasEnded { isPressed = waitForKey(orChild: true) }
      child.end()
      while !isPressed, Screen.keys >= 0 { isPressed = waitForKey(orChild: false) }
    }
    Screen.enter()
  }

  /// Whether a key was pressed; a child's end is no key.
  private func waitForKey(orChild: Bool) -> Bool {
    var entries = [
      pollfd(fd: Screen.keys, events: Int16(POLLIN), revents: 0),
      pollfd(fd: orChild ? Signals.childPipe : -1, events: Int16(POLLIN), revents: 0),
    ]
    guard poll(&entries, 2, -1) > 0 else { return false }
    if entries[1].revents != 0 { Signals.drainChildPipe() }
    return entries[0].revents != 0 && !Self.readKeys().isEmpty
  }
}
