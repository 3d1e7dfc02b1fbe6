import GatewayCore

/// `history`: prints the events that the daemon remembers, and ends.
struct HistoryCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .history, operands: "URL [EVENT…]", operandCount: 1...(.max),
    summary: "print the events that the daemon remembers",
    details: [
      "Prints what 'subscribe' has printed or would have printed, in the same form, and ends: everything that the daemon "
        + "still has unless --last or --since says less. EVENT may be a pattern with * and ?. Nothing is asked of the "
        + "server, and no connection is made for it. What is missing is reported on stderr.",
      CommandSpecification.urlExplained,
    ],
    options: OptionSpecification.ofURL + [
      .init(.last, value: "N", "print only the last N events"),
      .init(.since, value: "EPOCH:SEQ", "print only what came after this event"),
    ] + EventPrinter.options + [.onGap],
    examples: [
      .init("What came last?", "gatewayctl history --last 10 chat"),
      .init("Read the texts", "gatewayctl history --format '%t %a' chat said"),
      .init("Go on where you left off", "gatewayctl history --since e7:4100 chat"),
    ])

  private let context: Context
  private let printer: EventPrinter
  private let gapPolicy: GapPolicy

  /// Events of one answer; one of long events ends where the line is full.
  private static let pageLimit = 1_000

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let arguments = context.arguments
    try arguments.refuse(.since, with: .last)
    let command = HistoryCommand(
      context: context, printer: try EventPrinter(context),
      gapPolicy: try arguments.choice(.onGap, of: GapPolicy.self) ?? .warn)
    let last = try arguments.count(.last, in: 0...1_000_000_000)
    if let since = try LiveSubscription.Position(arguments) {
      try command.printAll(since: since)
    } else if let last {
      try command.printNewest(last)
    } else {
      try command.walk(from: try command.beginning()) { (page) throws(Failure) in try command.print(page.events) }
    }
    return .done
  }

  // MARK: What is printed

  private func printAll(since position: LiveSubscription.Position) throws(Failure) {
    let first = try page(since: position, limit: Self.pageLimit)
    try report(first)
    try print(first.events)
    guard first.hasMore else { return }
    try walk(from: first.end, reporting: .all) { (page) throws(Failure) in try print(page.events) }
  }

  private func printNewest(_ count: Int) throws(Failure) {
    guard count > 0 else { return }
    let newest = try page(since: nil, limit: count)
    try report(newest, where: Self.isOfWhatIsKept)
    if newest.events.count == count { return try print(newest.events) }
    // There are not so many, or they do not fit into one answer, which then has the newest of them.
    var events: [ReceivedEvent] = []
    try walk(from: try beginning(), reporting: .fromSecondPage) { (page) throws(Failure) in
      events += page.events
      events.removeFirst(max(0, events.count - count))
    }
    try print(events)
  }

  private func print(_ events: [ReceivedEvent]) throws(Failure) {
    for event in events { try printer.print(event) }
    try context.output.flushOrEnd()
  }

  /// What the daemon could not read of other hosts is said of each page.
  private func report(_ page: Page, where isMeant: (String) -> Bool = { _ in true }) throws(Failure) {
    for reason in page.missing {
      let detail = reason == "upstream" ? page.detail : nil
      guard detail != nil || isMeant(reason) else { continue }
      var gap = ReceivedGap(reason: reason)
      gap.detail = detail
      try report(gap)
    }
  }

  private func report(_ gap: ReceivedGap) throws(Failure) {
    guard gapPolicy == .fail else { return context.diagnostics.error("gap: \(gap.description)") }
    throw Failure(.dataLost, "gap: \(gap.description); --on-gap warn would go on")
  }

  // MARK: What the daemon remembers

  /// One answer of the daemon.
  private struct Page {
    var events: [ReceivedEvent]
    /// Where it ends.
    var end: LiveSubscription.Position
    /// Why something is missing up to there; nothing is where there is no reason.
    var missing: [String]
    /// Why what other hosts have heard could not be read.
    var detail: String?
    var hasMore: Bool
  }

  /// In front of everything that is remembered.
  private func beginning() throws(Failure) -> LiveSubscription.Position {
    LiveSubscription.Position(epoch: try page(since: nil, limit: 1).end.epoch, sequence: 0)
  }

  /// What is said about the first page of a walk; of each further one all that is missing is.
  private enum FirstPage {
    /// What stood at the position was handed out, and what is not there any more behind it is missed.
    case all
    /// It begins where the daemon's memory does: what came before was not asked for.
    case ofWhatIsKept
    /// That was said already.
    case fromSecondPage
  }

  /// Whether a reason concerns an event that came while the daemon remembered, and that it cannot show.
  private static func isOfWhatIsKept(_ reason: String) -> Bool { reason != "expired" && reason != "upstream" }

  /// Hands out page by page.
  private func walk(
    from start: LiveSubscription.Position, reporting: FirstPage = .ofWhatIsKept,
    _ take: (Page) throws(Failure) -> Void
  ) throws(Failure) {
    var position = start
    var reporting = reporting
    while true {
      let page = try page(since: position, limit: Self.pageLimit)
      switch reporting {
      case .all: try report(page)
      case .ofWhatIsKept: try report(page, where: Self.isOfWhatIsKept)
      case .fromSecondPage: break
      }
      try take(page)
      guard page.hasMore else { return }
      reporting = .all
      position = page.end
    }
  }

  /// - Parameter position: nil for the newest events.
  private func page(since position: LiveSubscription.Position?, limit: Int) throws(Failure) -> Page {
    let result = try context.client.call("history", until: context.deadline) { writer in
      context.target.write(into: &writer)
      let names = context.arguments.operands.dropFirst()
      if !names.isEmpty {
        writer.key("events")
        writer.beginArray()
        for name in names { writer.string(name) }
        writer.endArray()
      }
      position?.write(into: &writer)
      writer.key("limit")
      writer.integer(limit)
    }
    guard let members = RawJSONObject(result), let elements = members.elements("events"),
      let epoch = members.string("epoch"), let sequence = members.integer("seq").flatMap({ UInt64($0) })
    else {
      throw Failure(.protocolMismatch, "the daemon's answer is no history; install the same version of both")
    }
    let events = elements.compactMap { RawJSONObject($0).flatMap { ReceivedEvent($0, epoch: epoch) } }
    guard events.count == elements.count else {
      throw Failure(.protocolMismatch, "the daemon sent an event without its parts; install the same version of both")
    }
    return Page(
      events: events, end: .init(epoch: epoch, sequence: sequence), missing: Self.missing(members),
      detail: members.string("detail"), hasMore: members["more"] == Array("true".utf8))
  }

  /// A daemon of an earlier version does not say why.
  private static func missing(_ members: RawJSONObject) -> [String] {
    if members["complete"] == Array("true".utf8) { return [] }
    guard let reasons = members.elements("missing") else { return ["expired"] }
    return reasons.map { String(decoding: $0.dropFirst().dropLast(), as: UTF8.self) }
  }
}
