/// A connector that has one of the server's kind: messages are that kind's, and only what is dialled is another thing.
protocol FleetWrapper: UpstreamConnector {
  var connector: any UpstreamConnector { get }
}

extension FleetWrapper {
  var kind: String { connector.kind }
  var route: DialRequest { connector.route }
  var confirmedInterests: ConfirmedInterests { connector.confirmedInterests }

  var partsLimit: Int { min(connector.partsLimit, FleetWire.longest) }

  func prepare(_ draft: MessageDraft) throws(MessageProblem) -> PreparedMessage {
    try checked(connector.prepare(draft))
  }
  func prepareAnswer(_ draft: AnswerDraft) throws(MessageProblem) -> PreparedMessage {
    try checked(connector.prepareAnswer(draft))
  }
  func check(_ message: PreparedMessage, acknowledged: Bool) -> MessageProblem? {
    sizeProblem(message) ?? connector.check(message, acknowledged: acknowledged)
  }

  private func checked(_ message: PreparedMessage) throws(MessageProblem) -> PreparedMessage {
    if let problem = sizeProblem(message) { throw problem }
    return message
  }

  private func sizeProblem(_ message: PreparedMessage) -> MessageProblem? {
    let size = message.byteCount
    return size > FleetWire.longest ? .tooLargeForFleet(limit: FleetWire.longest, size: size) : nil
  }

  func problem(with interest: Interest) -> MessageProblem? { connector.problem(with: interest) }
}

/// The connector of every host: prepares messages as the kind does, and speaks to the fleet instead of the server.
final class FleetConnector: FleetWrapper {
  let connector: any UpstreamConnector
  private let link: FleetLink
  /// It is told nothing here: packets go over the link of the holder alone.
  var observer: (any UpstreamObserver)?

  init(_ connector: any UpstreamConnector, link: FleetLink) {
    self.connector = connector
    self.link = link
  }

  /// Those of the engine.
  var hosts: [String] { link.settings.servers }
  /// Of kinds that send everything unasked the holder confirms who answers the server's questions: it has to know whom
  /// to ask.
  var confirmedInterests: ConfirmedInterests { connector.confirmedInterests == .all ? .all : .answering }

  /// For another host that holds.
  var waitsByItself: Bool { true }

  /// A host that does not reach the engine for longer takes no part.
  var pastLimit: Duration? { link.settings.grace }
  var pastTrouble: UpstreamFailure? {
    guard link.engine.server == nil, let failure = link.engine.vainFailure else { return nil }
    return UpstreamFailure(.fleet, "the fleet's Redis is not reached: \(failure.detail)")
  }

  /// The engine is reached again, or this host may take part again.
  func awaitWay(_ done: @escaping () -> Void) { link.onWay = done }

  func dial(owner: any UpstreamChannelOwner) -> any UpstreamChannel { link.dial(owner: owner) }
}

/// The connector of the holder's own connection: an ordinary connection to the server, of whichever kind, which lives,
/// logs in and is kept like any other. Only what the server says to programs is not for it, but for the fleet.
final class FleetTapConnector: FleetWrapper {
  private(set) var connector: any UpstreamConnector
  weak var holder: FleetHolder?
  /// The present attempt or conversation.
  private(set) weak var tap: FleetTap?
  /// Told what goes over the link to the server, also after other settings were adopted.
  var observer: (any UpstreamObserver)? {
    didSet { connector.observer = observer }
  }

  init(_ connector: any UpstreamConnector) { self.connector = connector }

  /// Other settings of the same upstream, or the connection is made anew.
  func adopt(_ connector: any UpstreamConnector) {
    connector.resumption = self.connector.resumption
    self.connector.observer = nil
    connector.observer = observer
    self.connector = connector
  }

  var hosts: [String] { connector.hosts }
  var isAnswered: Bool { connector.isAnswered }
  var resumption: Resumption? {
    get { connector.resumption }
    set { connector.resumption = newValue }
  }

  func awaitNewCredentials(_ done: @escaping () -> Void) { connector.awaitNewCredentials(done) }

  func dial(owner: any UpstreamChannelOwner) -> any UpstreamChannel {
    let tap = FleetTap(owner: owner, holder: holder)
    self.tap = tap
    tap.dial(connector)
    if let holder { tap.mayWrite(until: holder.limit) }
    return tap
  }
}
