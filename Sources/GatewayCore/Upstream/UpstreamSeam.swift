/// What one kind of upstream offers to the generic connection. A further kind is one more implementation of these
/// protocols, registered in `UpstreamKinds`; nothing else changes.

/// One kind of upstream for one connection: prepares messages and makes a fresh channel for every attempt.
/// Decision 0049.
protocol UpstreamConnector: AnyObject {
  /// `socketio`; shown as `kind` in `status`.
  var kind: String { get }
  /// The hosts that are dialled, names or addresses: the servers', or the proxy's that stands before them. An attempt
  /// is futile when there is a way to none of them.
  var hosts: [String] { get }
  /// How the first place is dialled, without what is read for each attempt: what an examination begins with.
  var route: DialRequest { get }

  /// Turns what a local program wants to have said into what will be written, and refuses whatever would make the
  /// server close the shared link. The limit of the last known handshake applies even while not connected.
  func prepare(_ draft: MessageDraft) throws(MessageProblem) -> PreparedMessage

  /// Most bytes of a text of `args` that comes in parts: how long a text may be that is prepared in one go.
  var partsLimit: Int { get }

  /// Prepares the answer to an acknowledgement that the server asked for.
  func prepareAnswer(_ draft: AnswerDraft) throws(MessageProblem) -> PreparedMessage

  /// Checks a message that was prepared earlier against what is known now (`maxPayload` of the current handshake).
  func check(_ message: PreparedMessage, acknowledged: Bool) -> MessageProblem?

  /// Whether an attempt waits by itself for as long as the server is away, at no cost to it: after a conversation that
  /// has ended the next one needs no back-off.
  var waitsByItself: Bool { get }

  /// Whether a connection stands only when the server has said something: where it is false an open port is all that is
  /// known of it at first.
  var isAnswered: Bool { get }

  /// Of which interests the other end wants to know, and says of each whether it agrees. No channel is ever told of
  /// others.
  var confirmedInterests: ConfirmedInterests { get }
  /// Whether the server could be asked for it at all; nil if it could.
  func problem(with interest: Interest) -> MessageProblem?

  /// Calls back at most once, when credentials that are read at each attempt may have become others since the last one.
  /// A new attempt ends the waiting.
  func awaitNewCredentials(_ done: @escaping () -> Void)

  /// Calls back at most once, when it is seen that what the last attempt failed for has passed. Another call ends the waiting
  /// of the one before.
  func awaitWay(_ done: @escaping () -> Void)

  /// The observer that is told what goes over the connection, from now on and on every later channel; nil without one.
  /// A kind looks at it before it puts anything into words.
  var observer: (any UpstreamObserver)? { get set }

  /// How long a program may wait for what the link tells of the past, where it tells some and the program was told of more
  /// elsewhere; nil: it tells none.
  var pastLimit: Duration? { get }
  /// Why the link will hardly tell any of that soon; nil where it does, or may.
  var pastTrouble: UpstreamFailure? { get }

  /// What the next channel needs to go on where this connector's last one ended, or will end; nil: it begins afresh. To
  /// be set before anything is dialled.
  var resumption: Resumption? { get set }

  /// Starts one attempt. The owner hears about it later, never before this method has returned.
  func dial(owner: any UpstreamChannelOwner) -> any UpstreamChannel
}

extension UpstreamConnector {
  /// Where the way is free is known only by trying it.
  func awaitWay(_ done: @escaping () -> Void) {}

  /// A server that is dialled too often suffers from it.
  var waitsByItself: Bool { false }

  /// A server that is spoken to by this daemon alone has told no program of more.
  var pastLimit: Duration? { nil }
  var pastTrouble: UpstreamFailure? { nil }

  /// A kind that knows no recovery always begins afresh.
  var resumption: Resumption? {
    get { nil }
    set {}
  }

  /// A kind whose credentials never change outside of the configuration has nothing to wait for.
  func awaitNewCredentials(_ done: @escaping () -> Void) {}
  /// A kind with a handshake.
  var isAnswered: Bool { true }
  /// A kind whose servers send everything unasked.
  var confirmedInterests: ConfirmedInterests { .none }
  func problem(with interest: Interest) -> MessageProblem? { nil }
}

/// One attempt and, if it succeeds, the conversation that follows. Never reused: a reconnect makes another.
protocol UpstreamChannel: AnyObject {
  /// Writes a message. With `ack`, the owner hears `acknowledged` with that id at most once.
  /// Only to be called between `channelOpened` and `channelEnded`.
  func write(_ message: PreparedMessage, ack: UInt64?)
  /// The same for one that the outbox keeps, with the number of its entry.
  func write(_ message: PreparedMessage, ack: UInt64?, entry: UInt64)
  /// The same for one that enters something, such as a room. Where the channel `sharesEntered`, with what undoes it, as
  /// far as that is known; else with nil.
  func enter(_ message: PreparedMessage, ack: UInt64?, leave: PreparedLeave?)
  /// Nothing on this host holds a message any more that was entered by this channel or an earlier one; nil: nothing is
  /// known that undoes it. Only where the channel `sharesEntered`; elsewhere what undoes it is an ordinary write.
  func leave(_ leave: PreparedLeave?, of entered: PreparedMessage)
  /// Whether other hosts may hold the same over the same link: then what is held is entered at every opening, also where
  /// the server goes on, and the channel is told of each end.
  var sharesEntered: Bool { get }
  /// Answers an acknowledgement that the server asked for.
  func answer(_ id: UInt64, _ message: PreparedMessage)
  /// A subscriber wants this from now on. To be called from the dialling on; asked for once the conversation can
  /// begin. The owner hears `answered` exactly once for it, after `channelOpened`, unless it is dropped before. Only
  /// where the connector confirms interests.
  func want(_ interest: Interest)
  /// No subscription wants it any more.
  func drop(_ interest: Interest)
  /// No client will answer: the server is told, where the kind has words for that. False: it has none.
  @discardableResult
  func decline(_ id: UInt64, _ why: AnswerAbsence) -> Bool
  /// A program does not want to wait for the conversation to begin. The owner hears once more, later, what the channel
  /// `waitsFor`, where that is a refusal.
  func hurry()
  /// Gives up waiting for an acknowledgement; a late one is ignored.
  func forget(ack: UInt64)
  /// To be called before something is written: ends the channel at once, if its heartbeat is known to be overdue.
  func checkHeartbeat()
  /// The network may have changed, or the machine slept: asks the server for a sign of life. Without one in time the
  /// channel ends.
  func verify()
  /// Leaves politely. The owner hears nothing more.
  func close()
  /// The same, but so that the server keeps what it knows of us for a later channel, where it can.
  func suspend()
  /// Where a later channel could go on in the server's session: behind the event that the owner is being told of, or else
  /// the last one. Nil where the server keeps nothing. Known from `channelOpened` on.
  var sessionPlace: SessionPlace? { get }
  /// Whether other conversations go over the same link, which lives on without this one.
  var sharesLink: Bool { get }
  /// Asks for what there is of the past by now: the owner hears of it, and then `channelToldPast`, unless the channel ends
  /// before. From the dialling on; only where the connector has a `pastLimit`.
  func tellPast()
  /// Whether what it tells next is news: all that there is of the past was told. Of links that have no past it always is.
  var isCurrent: Bool { get }
  /// Whether the server goes on where the connector's last channel ended, so that what was said there stands and
  /// nothing was missed. Known from `channelOpened` on; what was missed follows as ordinary events. Where the link gives
  /// events their places these say whether some are missing.
  var isRecovered: Bool { get }
  /// Bytes accepted but not yet taken by the kernel.
  var unsentBytes: Int { get }
  /// How far what its link is given comes, also after `close()`. The same from `channelOpened` on; nil where there are
  /// `confirmations`, or where nothing is written after `close()`.
  var progress: (any WriteProgress)? { get }
  /// Whether the kernel refused bytes the last time they were offered, so that what is written now waits. Where there are
  /// `confirmations`: whether as much is not confirmed as may be, or nothing can be said now.
  var isCongested: Bool { get }
  /// How far what was written has come, where it is not sent before somebody else has confirmed it; nil where the kernel's
  /// word counts. It is the one or the other from `channelOpened` on.
  var confirmations: WriteConfirmations? { get }
  /// Whose the bytes are that the link has not taken, where several conversations share it; nil where it has one alone.
  var unsentSends: UnsentSends? { get }
  /// Whether other conversations share the link, and one of them waits for something.
  var isAwaitedByOthers: Bool { get }
  /// Whether what the server said has some of the credentials in it that this host connects with. Also after the end.
  func repeatsCredentials(_ failure: UpstreamFailure) -> Bool
  /// What is known now, for `status`.
  var facts: ChannelFacts { get }
  /// Nothing more may reach the kernel from that instant on, until another one is set: looked at right before each system
  /// call that writes.
  func mayWrite(until limit: MonotonicInstant)
  /// The server is read no further, or read on: what it says waits with it. Other conversations of the link are held with
  /// this one.
  func holdReading(_ isHeld: Bool)
}

extension UpstreamChannel {
  /// A kind that knows no recovery has nothing to be kept.
  func suspend() { close() }
  var sessionPlace: SessionPlace? { nil }
  /// A kind with a transport for each conversation.
  var sharesLink: Bool { false }

  /// The server is not told of the outbox.
  func write(_ message: PreparedMessage, ack: UInt64?, entry: UInt64) { write(message, ack: ack) }

  /// A server tells what enters from other messages by itself.
  func enter(_ message: PreparedMessage, ack: UInt64?, leave: PreparedLeave?) { write(message, ack: ack) }
  func leave(_ leave: PreparedLeave?, of entered: PreparedMessage) {}
  /// For links that belong to this host alone.
  var sharesEntered: Bool { false }

  /// A kind with a transport for each conversation.
  var unsentSends: UnsentSends? { nil }
  var confirmations: WriteConfirmations? { nil }
  var progress: (any WriteProgress)? { nil }

  /// Whether commands wait in their queue, where they expire, give way and can be taken back, because what is written now
  /// would wait for somebody else to confirm what was written before. A server that takes nothing has the bytes of a link of
  /// this host alone before it already.
  var holdsCommands: Bool { confirmations != nil && isCongested }

  var isAwaitedByOthers: Bool { false }

  /// A kind that knows no recovery begins afresh each time.
  var isRecovered: Bool { false }
  /// For links that belong to this host alone: what an attempt waits for is its own handshake.
  func hurry() {}
  func want(_ interest: Interest) {}
  func drop(_ interest: Interest) {}
  func decline(_ id: UInt64, _ why: AnswerAbsence) -> Bool { false }
  /// For links that have no past.
  func tellPast() {}
  var isCurrent: Bool { true }
  /// For links that belong to this host alone.
  func mayWrite(until limit: MonotonicInstant) {}
  func holdReading(_ isHeld: Bool) {}
}

/// Writes of a channel, numbered in their order.
struct WriteConfirmations: Equatable, Sendable {
  /// The number of the last one.
  var written: UInt64
  /// All up to this one have reached the server's machine.
  var confirmed: UInt64
  /// Nothing behind it was written, nor will be: the channel has ended in order.
  var isFinal = false
}

/// What was written and is not confirmed.
enum UnconfirmedWrite: Equatable, Sendable {
  /// It wants an acknowledgement, by its own id.
  case awaiting(ack: UInt64)
  /// It wants none; by its number among the confirmations.
  case handedOver(number: UInt64)
}

/// Why a server that asked for an answer gets none.
enum AnswerAbsence: Equatable, Sendable {
  /// There was no client to be asked.
  case unheard
  /// The client that was asked has left, and may have done a part of it.
  case abandoned
}

/// The connection that is told what happens on a channel. Spans are valid only during the call.
protocol UpstreamChannelOwner: AnyObject {
  /// The conversation may begin. At most once.
  func channelOpened(_ channel: any UpstreamChannel)
  /// An event. `name` is the raw JSON text of its name (a string with its quotes); `arguments` is the raw text of
  /// its arguments in the local form, separated by commas, without the array's brackets, possibly empty, without
  /// line breaks; `kwargs` is the raw text of a JSON object without line breaks, where the kind has such. `ack` is set
  /// when the server wants an answer.
  func channel(
    _ channel: any UpstreamChannel, receivedEvent name: RawSpan, arguments: RawSpan, kwargs: RawSpan?, ack: UInt64?)
  /// The event that is told next has this place, which the link gives it. Also of the past: before `channelOpened`.
  func channel(_ channel: any UpstreamChannel, at place: EventPlace)
  /// All that there was when `tellPast` was called last has been told.
  func channelToldPast(_ channel: any UpstreamChannel)
  /// Longest line of a local program, in bytes. What a server sends need not be read to its end, nor be put into the
  /// local form, where it certainly is longer: it is told by the two below.
  var lineLimit: Int { get }
  /// Whether it has written a moment ago what may be why the link will break, and will be blamed for it.
  var doubtsLink: Bool { get }
  /// An event of so many bytes that is longer than a line. `name` and `ack` as for any other.
  func channel(_ channel: any UpstreamChannel, receivedEvent name: RawSpan, tooLong size: Int, ack: UInt64?)
  /// The acknowledgement of `write(_:ack:)`, or with `isPart` a part of it, is longer than a line.
  func channel(_ channel: any UpstreamChannel, answered id: UInt64, tooLong size: Int, isPart: Bool)
  /// The acknowledgement of `write(_:ack:)` has come, but cannot be shown.
  func channel(_ channel: any UpstreamChannel, answeredUnreadably id: UInt64)
  /// The server no longer wants the answer to that acknowledgement.
  func channel(_ channel: any UpstreamChannel, withdrew ack: UInt64)
  /// An event arrived that cannot be shown: subscribers are told by a gap of one.
  func channel(_ channel: any UpstreamChannel, dropped event: DroppedEvent)
  /// An event of so many bytes came over the link for others than the owner.
  func channel(_ channel: any UpstreamChannel, carriedEventOf size: Int)
  /// A message of so many bytes was written for them.
  func channel(_ channel: any UpstreamChannel, carriedMessageOf size: Int)
  /// The acknowledgement of `write(_:ack:)`; `arguments` and `kwargs` as for an event.
  func channel(_ channel: any UpstreamChannel, acknowledged id: UInt64, arguments: RawSpan, kwargs: RawSpan?)
  /// A part of the acknowledgement; more follows.
  func channel(_ channel: any UpstreamChannel, progressed id: UInt64, arguments: RawSpan, kwargs: RawSpan?)
  /// Instead of an acknowledgement: the application at the other end answered with an error.
  func channel(_ channel: any UpstreamChannel, failed id: UInt64, _ error: RemoteError)
  /// What was written was given to nobody, and will not be: what the other end of the link knows of the server makes it
  /// impossible. Only where there are `confirmations`.
  func channel(_ channel: any UpstreamChannel, refused write: UnconfirmedWrite, _ problem: MessageProblem)
  /// The server's answer to `want(_:)`: nil when it agreed, else why not. A second time, with a reason, when it takes
  /// back what it agreed to.
  func channel(_ channel: any UpstreamChannel, answered interest: Interest, _ refusal: UpstreamFailure?)
  /// The credentials will expire and new ones are there: the channel is to be closed and another one dialled. It may
  /// be used until then. At most once.
  func channelHasNewCredentials(_ channel: any UpstreamChannel)
  /// The server's clock was looked at. At any time between the dialling and the end, as often as there is an occasion.
  func channel(_ channel: any UpstreamChannel, sampledTime sample: ClockSample)
  /// The time of an event that comes now and is told to others than the owner, in milliseconds since 1970; nil where the
  /// owner gives events none.
  func stampEvent() -> Int64?
  /// The attempt goes on, but what it waits for is not there, for this reason. As often as there is another one.
  func channel(_ channel: any UpstreamChannel, waitsFor failure: UpstreamFailure)
  /// The end comes, perhaps: `unsentBytes` says once more what the server's machine has not acknowledged. A channel that
  /// cannot say it leaves this out.
  func channelEnds(_ channel: any UpstreamChannel)
  /// The attempt failed or the conversation ended. Exactly once unless the owner called `close()`; nothing follows.
  func channelEnded(_ channel: any UpstreamChannel, _ failure: UpstreamFailure)
}

extension UpstreamChannelOwner {
  /// For owners to which what was delivered is nothing.
  func channelEnds(_ channel: any UpstreamChannel) {}
  /// For kinds without keyword arguments.
  func channel(_ channel: any UpstreamChannel, receivedEvent name: RawSpan, arguments: RawSpan, ack: UInt64?) {
    self.channel(channel, receivedEvent: name, arguments: arguments, kwargs: nil, ack: ack)
  }
  func channel(_ channel: any UpstreamChannel, acknowledged id: UInt64, arguments: RawSpan) {
    self.channel(channel, acknowledged: id, arguments: arguments, kwargs: nil)
  }
  /// For owners that number events themselves.
  func channel(_ channel: any UpstreamChannel, at place: EventPlace) {}
  /// For owners that ask for no past.
  func channelToldPast(_ channel: any UpstreamChannel) {}
  /// For owners that take everything.
  var lineLimit: Int { .max }
  func channel(_ channel: any UpstreamChannel, receivedEvent name: RawSpan, tooLong size: Int, ack: UInt64?) {}
  /// For owners that have their links alone.
  func channel(_ channel: any UpstreamChannel, carriedEventOf size: Int) {}
  func channel(_ channel: any UpstreamChannel, carriedMessageOf size: Int) {}
  /// For owners that enter nothing.
  var doubtsLink: Bool { false }
  func channel(_ channel: any UpstreamChannel, answered id: UInt64, tooLong size: Int, isPart: Bool) {}
  func channel(_ channel: any UpstreamChannel, answeredUnreadably id: UInt64) {}
  /// A connection that wants nothing and asks nothing hears nothing of these.
  func channel(_ channel: any UpstreamChannel, withdrew ack: UInt64) {}
  func channel(_ channel: any UpstreamChannel, progressed id: UInt64, arguments: RawSpan, kwargs: RawSpan?) {}
  func channel(_ channel: any UpstreamChannel, failed id: UInt64, _ error: RemoteError) {}
  /// For owners whose link belongs to this host alone.
  func channel(_ channel: any UpstreamChannel, refused write: UnconfirmedWrite, _ problem: MessageProblem) {}
  func channel(_ channel: any UpstreamChannel, answered interest: Interest, _ refusal: UpstreamFailure?) {}
  /// For owners that tell nobody.
  func channel(_ channel: any UpstreamChannel, waitsFor failure: UpstreamFailure) {}
  /// For owners that give nothing a time.
  func channel(_ channel: any UpstreamChannel, sampledTime sample: ClockSample) {}
  func stampEvent() -> Int64? { nil }
}

/// Which event of an upstream it is, where not every host numbers them for itself.
struct EventPlace: Equatable, Sendable {
  var epoch: String
  var sequence: UInt64
  /// Milliseconds since 1970.
  var time: UInt64
}

/// An event that arrived and cannot be shown to any client.
struct DroppedEvent: Equatable, Sendable {
  /// `undecodable` or `too_large`.
  var reason: GapReason
  /// What is wrong with it, as a sentence for a person; nil where the reason says it all.
  var detail: String?
  /// The raw JSON text of its name: then only the subscriptions that want it are told.
  var name: [UInt8]?
  /// Set when the server wants an answer.
  var ack: UInt64?

  init(_ reason: GapReason, detail: String? = nil, name: [UInt8]? = nil, ack: UInt64? = nil) {
    self.reason = reason
    self.detail = detail
    self.name = name
    self.ack = ack
  }
}

/// What is known of a channel, for `status`.
struct ChannelFacts: Equatable, Sendable {
  /// Identifies the link that the channel shares.
  var link: String
  /// Scheme, host and port that the link goes to: one of several URLs, or the target of a redirect.
  var server: String?
  var transport: TransportFacts?
  /// Protocol name to revision, such as `engineio` 4 and `socketio` 5.
  var protocols: [(name: String, revision: Int)]
  /// The server's id of this connection; shown only to those who may see the connection.
  var sid: String?
  /// The last measured round trip in milliseconds.
  var roundTrip: Double?
  var heartbeat: (interval: Duration, timeout: Duration)?
  /// Since the last heartbeat was heard, or the link opened.
  var heartbeatAge: Duration?

  init(
    link: String, server: String? = nil, transport: TransportFacts? = nil,
    protocols: [(name: String, revision: Int)] = [],
    sid: String? = nil, roundTrip: Double? = nil, heartbeat: (interval: Duration, timeout: Duration)? = nil,
    heartbeatAge: Duration? = nil
  ) {
    self.link = link
    self.server = server
    self.transport = transport
    self.protocols = protocols
    self.sid = sid
    self.roundTrip = roundTrip
    self.heartbeat = heartbeat
    self.heartbeatAge = heartbeatAge
  }

  static func == (a: Self, b: Self) -> Bool {
    a.link == b.link && a.server == b.server && a.transport == b.transport && a.sid == b.sid
      && a.roundTrip == b.roundTrip
      && a.protocols.elementsEqual(b.protocols, by: ==) && a.heartbeat?.interval == b.heartbeat?.interval
      && a.heartbeat?.timeout == b.heartbeat?.timeout && a.heartbeatAge == b.heartbeatAge
  }
}

/// Why events are missing. The raw values are the `reason` of a `gap` notification.
enum GapReason: String, CaseIterable, Equatable, Sendable {
  case slowConsumer = "slow_consumer"
  case upstream
  case tooLarge = "too_large"
  case undecodable
  case expired
}

/// What a kind of upstream needs to go on with a server where it left off, over restarts of the daemon too. Secret:
/// a program that knows it receives what is meant for us.
struct Resumption: Equatable, Sendable {
  /// What the server knows us by.
  var session: String
  /// The last event that was received, as the server names it.
  var offset: String

  init(session: String, offset: String) {
    self.session = session
    self.offset = offset
  }
}

extension Resumption: CustomStringConvertible, CustomReflectable {
  var description: String { "resumption" }
  var customMirror: Mirror { Mirror(reflecting: description) }
}

/// How far a session of the server has come, of a server that keeps it for a later channel. Secret as `Resumption`.
struct SessionPlace: Equatable, Sendable {
  /// What the server knows us by.
  var session: String
  /// The last event, as the server names it; nil where nothing could be recovered, as before the first one.
  var offset: String?
}

extension SessionPlace: CustomStringConvertible, CustomReflectable {
  var description: String { "session place" }
  var customMirror: Mirror { Mirror(reflecting: description) }
}
