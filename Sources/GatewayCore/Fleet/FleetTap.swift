/// One conversation of the holder with the server: a channel for the connection, and the owner of the kind's channel.
final class FleetTap {
  /// What the server said to programs.
  enum Content: Equatable {
    case event(name: [UInt8], arguments: [UInt8], kwargs: [UInt8]?)
    case tooLong(name: [UInt8], size: Int)
    case dropped(DroppedEvent)

    /// The name that subscriptions know it by; empty where it has none.
    var name: String {
      let raw =
        switch self {
        case .event(let name, _, _), .tooLong(let name, _): name
        case .dropped(let event): event.name ?? []
        }
      return EventStream.name(of: raw.span.bytes)
    }

    /// As far as it is known, in bytes.
    var size: Int {
      switch self {
      case .event(let name, let arguments, let kwargs): name.count + arguments.count + (kwargs?.count ?? 0)
      case .tooLong(_, let size): size
      case .dropped: 0
      }
    }

    /// The same for all hosts.
    func entry(_ head: FleetEvent.Head) -> FleetEntry {
      switch self {
      case .event(let name, let arguments, let kwargs):
        .event(FleetEvent(head: head, name: name, arguments: arguments, kwargs: kwargs))
      case .tooLong(let name, let size): .tooLong(head, name: name, size: size)
      case .dropped(let event): .dropped(head, event)
      }
    }
  }

  /// Numbers from here on are the holder's, those below the connection's.
  static let firstNumber: UInt64 = 1 << 62

  private weak var owner: (any UpstreamChannelOwner)?
  private weak var holder: FleetHolder?
  private var channel: (any UpstreamChannel)!
  private(set) var isOpen = false
  /// Whether the server is read no further for now.
  private(set) var holdsReading = false
  /// What the connection itself has entered on this link, for all hosts: `on_connect` of the upstream.
  private var entered: Set<FleetRooms.Entering> = []

  init(owner: any UpstreamChannelOwner, holder: FleetHolder?) {
    self.owner = owner
    self.holder = holder
  }

  /// Dials by the connector of the kind.
  func dial(_ connector: any UpstreamConnector) { channel = connector.dial(owner: self) }

  /// Whether the connection itself has entered it, and no host may have it left.
  func hasEntered(_ entering: FleetRooms.Entering) -> Bool { entered.contains(entering) }

  /// Whether a number is the holder's.
  private func isHolders(_ id: UInt64) -> Bool { id >= Self.firstNumber }

  /// What is written for hosts is counted as the connection's, which says nothing itself but what it enters.
  private func wrote(_ message: PreparedMessage) {
    owner?.channel(self, carriedMessageOf: message.byteCount)
    holder?.wrote(message.byteCount)
  }

  private func heard(_ content: Content, ack: UInt64?) {
    owner?.channel(self, carriedEventOf: content.size)
    holder?.heard(content, ack: ack, time: owner?.stampEvent(), offset: channel.sessionPlace?.offset)
  }

  private func end(_ failure: UpstreamFailure?) {
    isOpen = false
    let holder = holder
    self.holder = nil
    holder?.ended(self, failure)
  }
}

extension FleetTap: UpstreamChannel {
  func write(_ message: PreparedMessage, ack: UInt64?) {
    channel.write(message, ack: ack)
    wrote(message)
  }
  func enter(_ message: PreparedMessage, ack: UInt64?, leave: PreparedLeave?) {
    entered.insert(FleetRooms.Entering(message))
    channel.enter(message, ack: ack, leave: leave)
  }
  func answer(_ id: UInt64, _ message: PreparedMessage) {
    channel.answer(id, message)
    wrote(message)
  }
  func want(_ interest: Interest) { channel.want(interest) }
  func drop(_ interest: Interest) { channel.drop(interest) }
  @discardableResult
  func decline(_ id: UInt64, _ why: AnswerAbsence) -> Bool { channel.decline(id, why) }
  func forget(ack: UInt64) { channel.forget(ack: ack) }
  func checkHeartbeat() { channel.checkHeartbeat() }
  func verify() { channel.verify() }
  func mayWrite(until limit: MonotonicInstant) { channel.mayWrite(until: limit) }
  func holdReading(_ isHeld: Bool) {
    guard isHeld != holdsReading else { return }
    holdsReading = isHeld
    channel.holdReading(isHeld)
  }

  /// Whoever holds then goes on in the server's session. On a link that lives on for others the server would not notice
  /// that this conversation is over.
  func close() {
    let givesAway = holder?.givesLinkAway == true
    close(keepingSession: givesAway && (holder?.isLast == true || !channel.sharesLink))
  }

  /// The daemon ends, and with it the link.
  func suspend() { close(keepingSession: true) }

  private func close(keepingSession keeps: Bool) {
    if keeps, channel.sessionPlace?.offset != nil { channel.suspend() } else { channel.close() }
    end(nil)
  }

  var isRecovered: Bool { channel.isRecovered }
  var sessionPlace: SessionPlace? { channel.sessionPlace }
  var sharesLink: Bool { channel.sharesLink }
  var unsentBytes: Int { channel.unsentBytes }
  var isCongested: Bool { channel.isCongested }
  func repeatsCredentials(_ failure: UpstreamFailure) -> Bool { channel.repeatsCredentials(failure) }
  var unsentSends: UnsentSends? { channel.unsentSends }
  var isAwaitedByOthers: Bool { channel.isAwaitedByOthers }
  var facts: ChannelFacts { channel.facts }
}

extension FleetTap: UpstreamChannelOwner {
  func channelOpened(_ channel: any UpstreamChannel) {
    isOpen = true
    owner?.channelOpened(self)
    // What the connection says at every connect goes first.
    if isOpen { holder?.opened(self) }
  }

  func channel(
    _ channel: any UpstreamChannel, receivedEvent name: RawSpan, arguments: RawSpan, kwargs: RawSpan?, ack: UInt64?
  ) {
    var keywords: [UInt8]?
    if let kwargs { keywords = Self.bytes(kwargs) }
    heard(.event(name: Self.bytes(name), arguments: Self.bytes(arguments), kwargs: keywords), ack: ack)
  }

  func channel(_ channel: any UpstreamChannel, receivedEvent name: RawSpan, tooLong size: Int, ack: UInt64?) {
    heard(.tooLong(name: Self.bytes(name), size: size), ack: ack)
  }

  func channel(_ channel: any UpstreamChannel, dropped event: DroppedEvent) {
    heard(.dropped(event), ack: event.ack)
  }

  func channel(_ channel: any UpstreamChannel, withdrew ack: UInt64) { holder?.heard(withdrawal: ack) }

  func channel(_ channel: any UpstreamChannel, answered id: UInt64, tooLong size: Int, isPart: Bool) {
    guard isHolders(id) else { return owner?.channel(self, answered: id, tooLong: size, isPart: isPart) ?? () }
    let answer = RemoteAnswer(tooLong: size)
    holder?.heard(reply: isPart ? .progressed(id, answer) : .acknowledged(id, answer))
  }

  func channel(_ channel: any UpstreamChannel, answeredUnreadably id: UInt64) {
    guard isHolders(id) else { return owner?.channel(self, answeredUnreadably: id) ?? () }
    holder?.heard(reply: .acknowledged(id, .unreadable))
  }

  func channel(_ channel: any UpstreamChannel, acknowledged id: UInt64, arguments: RawSpan, kwargs: RawSpan?) {
    guard isHolders(id) else {
      return owner?.channel(self, acknowledged: id, arguments: arguments, kwargs: kwargs) ?? ()
    }
    holder?.heard(reply: .acknowledged(id, RemoteAnswer(arguments, kwargs: kwargs)))
  }

  func channel(_ channel: any UpstreamChannel, progressed id: UInt64, arguments: RawSpan, kwargs: RawSpan?) {
    guard isHolders(id) else {
      return owner?.channel(self, progressed: id, arguments: arguments, kwargs: kwargs) ?? ()
    }
    holder?.heard(reply: .progressed(id, RemoteAnswer(arguments, kwargs: kwargs)))
  }

  func channel(_ channel: any UpstreamChannel, failed id: UInt64, _ error: RemoteError) {
    guard isHolders(id) else { return owner?.channel(self, failed: id, error) ?? () }
    holder?.heard(reply: .failed(id, error))
  }

  func channel(_ channel: any UpstreamChannel, answered interest: Interest, _ refusal: UpstreamFailure?) {
    let told = refusal.map { FleetInterestRefusal(Self.lookedThrough($0, by: channel)) }
    holder?.heard(reply: .answered(interest, refusal: told))
  }

  func channelHasNewCredentials(_ channel: any UpstreamChannel) { owner?.channelHasNewCredentials(self) }
  func channel(_ channel: any UpstreamChannel, sampledTime sample: ClockSample) {
    owner?.channel(self, sampledTime: sample)
  }
  var lineLimit: Int { min(owner?.lineLimit ?? .max, FleetWire.longest) }
  var doubtsLink: Bool { owner?.doubtsLink ?? false }

  func channelEnds(_ channel: any UpstreamChannel) { holder?.ends(self) }

  func channelEnded(_ channel: any UpstreamChannel, _ failure: UpstreamFailure) {
    let (holder, failure) = (holder, Self.lookedThrough(failure, by: channel))
    end(failure)
    owner?.channelEnded(self, failure)
    holder?.tellTrouble()
  }

  /// Every failure that the server had a word in comes by here, before other hosts are told of it.
  private static func lookedThrough(_ failure: UpstreamFailure, by channel: any UpstreamChannel) -> UpstreamFailure {
    var failure = failure
    failure.repeatsCredentials = channel.repeatsCredentials(failure)
    return failure
  }

  private static func bytes(_ text: RawSpan) -> [UInt8] { text.withUnsafeBytes { Array($0) } }
}
