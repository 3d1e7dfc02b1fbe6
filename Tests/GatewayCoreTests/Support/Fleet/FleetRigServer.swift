@testable import GatewayCore

/// The server of a fleet's upstream: it writes down what arrives, acknowledges what wants to be, and says numbered events
/// to whoever is connected.
final class FleetRigServer {
  /// A message that arrived.
  struct Arrival: Equatable {
    var message: FleetRigMessage
    /// On which link it came.
    var link: Int
    /// The term of the host that wrote it, and when it decided to.
    var term: UInt64
    var decided: MonotonicInstant
    var arrived: MonotonicInstant
  }

  let network: Timers
  let random: FakeRandom
  /// Whether it goes on where a session was left without a word, also where it has not noticed yet that the link is gone.
  var recovers = false
  private var sessions: Set<String> = []
  private(set) var arrivals: [Arrival] = []
  private(set) var said: UInt64 = 0
  private var channels: [FleetRigChannel] = []
  /// Links that were ever asked for.
  fileprivate var links = 0

  init(network: Timers, random: FakeRandom) {
    self.network = network
    self.random = random
  }

  /// A link has come. Returns what it has missed, if its session goes on.
  fileprivate func accept(_ channel: FleetRigChannel, _ resumption: Resumption?) -> [UInt64]? {
    channels.append(channel)
    guard let resumption, sessions.contains(resumption.session), let offset = UInt64(resumption.offset) else {
      return nil
    }
    return offset < said ? Array((offset + 1)...said) : []
  }

  /// A session begins with a link.
  fileprivate func beginSession(_ link: Int) -> String? {
    guard recovers else { return nil }
    sessions.insert("s\(link)")
    return "s\(link)"
  }

  /// A client has left in order: nothing is kept for it.
  fileprivate func left(_ session: String) { sessions.remove(session) }

  fileprivate func remove(_ channel: FleetRigChannel) { channels.removeAll { $0 === channel } }

  fileprivate func arrived(_ arrival: Arrival) { arrivals.append(arrival) }

  func say() {
    said += 1
    for channel in channels { channel.hear(said) }
  }

  /// Hangs up on everybody.
  func hangUp() {
    let all = channels
    channels = []
    for channel in all { channel.serverHungUp() }
  }
}

/// What programs of the rig say: which it is, and of what sort.
struct FleetRigMessage: Hashable, CustomStringConvertible {
  enum Sort: String, CaseIterable {
    /// Durable, without and with an acknowledgement.
    case stored, retried
    /// At most once, with and without an answer.
    case asked, plain

    var isDurable: Bool { self == .stored || self == .retried }
    var wantsAck: Bool { self == .retried || self == .asked }
  }

  var host: String
  var number: UInt64
  var sort: Sort

  var description: String { "\(host)/\(number) \(sort.rawValue)" }

  var prepared: PreparedMessage { PreparedMessage(event: "m", body: Array("\(host)/\(number)/\(sort.rawValue)".utf8)) }

  init(host: String, number: UInt64, sort: Sort) {
    self.host = host
    self.number = number
    self.sort = sort
  }

  init?(_ message: PreparedMessage) {
    let parts = String(decoding: message.body, as: UTF8.self).split(separator: "/")
    guard parts.count == 3, let number = UInt64(parts[1]), let sort = Sort(rawValue: String(parts[2])) else {
      return nil
    }
    self.init(host: String(parts[0]), number: number, sort: sort)
  }
}

/// The kind's connector at one host.
final class FleetRigConnector: UpstreamConnector {
  private let server: FleetRigServer
  private unowned let host: FleetRigHost
  private(set) weak var last: FleetRigChannel?
  fileprivate var session: String?
  /// The server's number of the last event of the session that this host heard; the server says it with events alone.
  fileprivate var offset: UInt64?
  var observer: (any UpstreamObserver)?

  init(_ server: FleetRigServer, _ host: FleetRigHost) {
    self.server = server
    self.host = host
  }

  let kind = "rig"
  let hosts: [String] = []
  var route: DialRequest { fatalError("nothing is examined here") }
  let partsLimit = Int.max
  var resumption: Resumption? {
    get {
      guard let session, let offset else { return nil }
      return Resumption(session: session, offset: String(offset))
    }
    set { (session, offset) = (newValue?.session, newValue.flatMap { UInt64($0.offset) }) }
  }
  func prepare(_ draft: MessageDraft) throws(MessageProblem) -> PreparedMessage {
    PreparedMessage(event: draft.event, body: draft.args)
  }
  func prepareAnswer(_ draft: AnswerDraft) throws(MessageProblem) -> PreparedMessage {
    PreparedMessage(event: "", body: draft.args)
  }
  func check(_ message: PreparedMessage, acknowledged: Bool) -> MessageProblem? { nil }

  func dial(owner: any UpstreamChannelOwner) -> any UpstreamChannel {
    let channel = FleetRigChannel(server, host, self, owner)
    last = channel
    channel.dial()
    return channel
  }
}

/// A link to the server. What the kernel has goes on its way also while the host stands still, and after it has died; it
/// is given up when the server's machine has not acknowledged it for a lease.
final class FleetRigChannel: UpstreamChannel {
  private struct Written {
    var message: FleetRigMessage?
    var ack: UInt64?
    var term: UInt64
    var decided: MonotonicInstant
    var bytes: Int
  }

  private let server: FleetRigServer
  private unowned let host: FleetRigHost
  private let name: String
  private let link: Int
  private let ways: FleetRigWays
  private let connector: FleetRigConnector
  private weak var owner: (any UpstreamChannelOwner)?
  private var limit: MonotonicInstant?
  /// What the kernel was not given, because it may not be.
  private var held: [Written] = []
  /// What the kernel has and the server's machine has not acknowledged.
  private var kernel: [Written] = []
  private var givenUp = 0
  /// What waits for a process that is stopped between its look at the clock and the call: that call, and what comes behind
  /// it; empty while it is not.
  private var stopped: [Written] = []
  /// What the server has said to it and is not on its way yet.
  private var unheard: [UInt64] = []
  private var isPumping = false
  private var isDead = false
  private var isSending = false
  private var lastHeard = MonotonicInstant(nanoseconds: 0)
  private let timeout: Duration
  private(set) var isRecovered = false
  /// The event that the owner is being told of.
  private var telling: UInt64?

  fileprivate init(
    _ server: FleetRigServer, _ host: FleetRigHost, _ connector: FleetRigConnector, _ owner: any UpstreamChannelOwner
  ) {
    self.server = server
    self.host = host
    self.connector = connector
    self.owner = owner
    server.links += 1
    link = server.links
    name = host.name
    ways = host.ways
    timeout = host.settings.lease
  }

  private var network: Timers { server.network }

  fileprivate func dial() {
    network.after(ways.delay(server.random)) { [weak self] in
      guard let self else { return }
      guard ways.reachesServer else { return fail(.unreachable, "there is no way to the server") }
      let missed = server.accept(self, connector.resumption)
      isRecovered = missed != nil
      let begun = isRecovered ? nil : server.beginSession(link)
      tell { owner, channel in
        if !channel.isRecovered { (channel.connector.session, channel.connector.offset) = (begun, nil) }
        owner.channelOpened(channel)
      }
      for number in missed ?? [] { hear(number) }
    }
  }

  private func tell(_ body: @escaping (any UpstreamChannelOwner, FleetRigChannel) -> Void) {
    lastHeard = max(lastHeard, network.now + ways.delay(server.random))
    let delivery = ways.delivery
    network.at(lastHeard) { [weak self] in
      delivery { [weak self] in
        guard let self, !isDead, let owner else { return }
        body(owner, self)
      }
    }
  }

  private func fail(_ reason: DownReason, _ sentence: String) {
    tell { owner, channel in
      channel.cut()
      owner.channelEnded(channel, UpstreamFailure(reason, sentence))
    }
  }

  /// What the server says waits for the way to be there again, as long as the link lives.
  fileprivate func hear(_ number: UInt64) {
    unheard.append(number)
    pump()
  }

  private func pump() {
    guard !isPumping, !unheard.isEmpty else { return }
    guard ways.reachesServer else {
      isPumping = true
      network.after(.milliseconds(20)) { [weak self] in
        self?.isPumping = false
        self?.pump()
      }
      return
    }
    let all = unheard
    unheard = []
    for number in all {
      tell { owner, channel in
        let name = Array(#""e""#.utf8)
        let arguments = Array(String(number).utf8)
        channel.telling = number
        owner.channel(channel, receivedEvent: name.span.bytes, arguments: arguments.span.bytes, ack: nil)
        channel.telling = nil
        // As with Socket.IO: behind the event, and not before.
        channel.connector.offset = number
      }
    }
  }

  fileprivate func serverHungUp() { fail(.closed, "the server hung up") }

  // MARK: - Writing

  func mayWrite(until limit: MonotonicInstant) {
    self.limit = limit
    let waiting = held
    held = []
    for item in waiting { give(item) }
  }

  func write(_ message: PreparedMessage, ack: UInt64?) {
    let item = Written(
      message: FleetRigMessage(message), ack: ack, term: 0, decided: network.now, bytes: message.byteCount)
    give(item)
  }

  /// The system call, with the look at the clock before it.
  private func give(_ item: Written) {
    guard !isDead else { return }
    guard stopped.isEmpty else { return stopped.append(item) }
    guard held.isEmpty, limit.map({ host.clock.now < $0 }) ?? true else { return held.append(item) }
    var item = item
    (item.term, item.decided) = (host.holder.lease.own?.term ?? 0, network.now)
    guard let stop = host.takeStop() else { return hand(item) }
    stopped = [item]
    network.after(stop) { [self] in
      let rest = stopped.dropFirst()
      stopped = []
      // It is on its way before the process does anything else.
      network.after(ways.delay(server.random)) { [self] in arrive(item) }
      for item in rest { give(item) }
      host.isPaused = false
    }
  }

  private func hand(_ item: Written) {
    kernel.append(item)
    let sent = item.decided
    network.after(timeout) { [weak self] in
      guard let self, kernel.contains(where: { $0.decided <= sent }) else { return }
      giveUp()
      fail(.closed, "the server's machine acknowledges nothing")
    }
    send()
  }

  /// The kernel sends what it has, one after the other. It holds the link for as long as it has something.
  private func send() {
    guard !isSending, !kernel.isEmpty else { return }
    isSending = true
    network.after(ways.delay(server.random)) { [self] in
      isSending = false
      guard let item = kernel.first else { return }
      guard ways.reachesServer else {
        network.after(.milliseconds(20)) { [self] in send() }
        return
      }
      kernel.removeFirst()
      arrive(item)
      send()
    }
  }

  private func arrive(_ item: Written) {
    guard let message = item.message else { return }
    server.arrived(
      FleetRigServer.Arrival(
        message: message, link: link, term: item.term, decided: item.decided, arrived: network.now))
    guard let ack = item.ack else { return }
    tell { owner, channel in
      let answer = Array("1".utf8)
      owner.channel(channel, acknowledged: ack, arguments: answer.span.bytes)
    }
  }

  /// What the kernel gives up was never acknowledged.
  private func giveUp() {
    givenUp += kernel.reduce(0) { $0 + $1.bytes }
    kernel = []
  }

  /// Nothing more leaves, of what the kernel has either.
  func cut() {
    giveUp()
    suspend()
  }

  func close() {
    guard !isDead else { return }
    if let session = connector.session { server.left(session) }
    (connector.session, connector.offset) = (nil, nil)
    suspend()
  }

  func suspend() {
    isDead = true
    held = []
    server.remove(self)
  }

  var sessionPlace: SessionPlace? {
    connector.session.map { SessionPlace(session: $0, offset: (telling ?? connector.offset).map { String($0) }) }
  }

  func answer(_ id: UInt64, _ message: PreparedMessage) {}
  func forget(ack: UInt64) {}
  func checkHeartbeat() {}
  func verify() {}
  var unsentBytes: Int { givenUp + (held + stopped + kernel).reduce(0) { $0 + $1.bytes } }
  var isCongested: Bool { false }
  func repeatsCredentials(_ failure: UpstreamFailure) -> Bool { false }
  var facts: ChannelFacts { ChannelFacts(link: "rig") }
}
