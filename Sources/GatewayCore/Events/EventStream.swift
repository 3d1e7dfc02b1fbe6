/// The events of one connection on their way to local subscribers: numbers them, encodes each once, and hands the same
/// bytes to every client that wants it.
final class EventStream {
  /// Changes exactly when continuity with the upstream was lost. Random, so that one daemon's never means another's.
  var epoch: String { history.current.epoch }
  /// The number of the last event; 0 before the first.
  private(set) var sequence: UInt64 = 0
  /// Events since the daemon's start, and their bytes. Numbers may leave some out.
  private(set) var eventCount: UInt64 = 0
  private(set) var byteCount: UInt64 = 0
  /// Events that subscriptions were to get as they came, each counted once for each subscription.
  private(set) var deliveryCount: UInt64 = 0
  /// What its subscriptions did not get.
  let losses = SubscriberLosses()
  /// What is kept for subscribers that come back.
  var history: EventHistory
  /// Keeps it on disk as well.
  var log: HistoryLog?
  /// Whether this daemon has read or written what is on the disk: all of it that may still be kept is in `history`
  /// then.
  var hasTakenOverDisk = false
  /// How the conversations with the server follow each other.
  private(set) var continuity = Continuity()
  /// The number of the last event of an earlier daemon.
  private(set) var inherited: UInt64 = 0
  private var router: Router
  /// Gives the events their time.
  var clock: EventClock
  /// Where the link gives each event its place: that of the next one. Nil where they are numbered here.
  private var given: EventPlace?
  private let outputs: ClientOutputs
  private let broadcasts: Broadcasts
  let time: any TimeSource
  private let random: any RandomSource
  /// Longest line of a local client, in bytes.
  private(set) var lineLimit: Int
  /// What the last event was written in, to be used again. Empty where the history keeps it.
  private var spareTail: [UInt8] = []
  private var answerTail: [UInt8] = []
  private var stamp = EventStamp()

  init(
    outputs: ClientOutputs, time: any TimeSource, random: any RandomSource, work: MatchingCost, lineLimit: Int,
    history: HistorySettings, serverTime: ServerTimeSettings, broadcasts: Broadcasts
  ) {
    router = Router(work)
    self.history = EventHistory(history, epoch: Self.freshEpoch(random))
    clock = EventClock(serverTime)
    self.outputs = outputs
    self.time = time
    self.random = random
    self.lineLimit = lineLimit
    self.broadcasts = broadcasts
  }

  /// A name for a new epoch.
  static func freshEpoch(_ random: any RandomSource) -> String {
    "e" + String(random.bits() & 0xff_ffff_ffff, radix: 36)
  }

  var subscriptionCount: Int { router.count }

  /// Whether there is nothing that a subscriber could miss: no event, and no conversation with the server so far.
  var isUnbegun: Bool { !continuity.hasConversed && sequence == 0 }

  /// Goes on with what an earlier daemon left; to be called before the first event. A client that subscribed already
  /// was told of another epoch.
  func restore(_ history: EventHistory, isContinuous: Bool) {
    let memory = self.history.memory
    self.history = history
    self.history.memory = memory
    sequence = history.sequence
    inherited = sequence
    if isContinuous { continuity.inheritPast() }
    if isContinuous, let last = history.lastTime { clock.resume(after: last) }
    tellAll(.lostContinuity(epoch: epoch, after: sequence))
  }

  /// All subscriptions, the oldest first: to be asked whether something concerns them.
  var subscriptions: [Subscription] {
    router.work.note(router.count * Self.askedCost)
    return router.all
  }

  /// Those that want this of the upstream, the oldest first.
  func subscriptions(wanting interest: Interest) -> [Subscription] {
    let found = router.subscriptions(wanting: interest)
    router.work.note(found.count * Self.askedCost)
    return found
  }

  /// Delivers to one more subscription.
  func add(_ subscription: Subscription) {
    subscription.losses = losses
    (subscription.broadcasts, subscription.told) = (broadcasts, broadcasts.last)
    router.add(subscription)
  }

  /// The rights of a subscription's client have changed: it gets from now on what they let pass, also of what waits for
  /// it.
  func adopt(_ permit: EventPermit, for subscription: Subscription) {
    guard subscription.filter.permit != permit else { return }
    subscription.adopt(permit, in: epoch)
    router.permitsChanged()
  }

  /// Delivers to this subscription no more.
  func remove(_ subscription: Subscription) {
    // Its client may be gone before whoever goes through many of them comes to it.
    subscription.mute()
    router.remove(subscription)
  }

  /// Delivers one event. `rawName` and `arguments` as in `UpstreamChannelOwner`. `token` makes the token that goes to
  /// the clients that answer; it is called only if there is one, with all subscriptions that get the event.
  func deliver(
    rawName: RawSpan, arguments: RawSpan, kwargs: RawSpan? = nil, wantsAnswer: Bool, token: (Router.Match) -> String?
  ) {
    let size = rawName.byteCount + arguments.byteCount + (kwargs?.byteCount ?? 0)
    guard size <= lineLimit else { return deliver(rawName: rawName, tooLong: size) }
    sequence += 1
    count(size)
    guard !EventName.isTooLong(rawName) else { return leaveHole(.tooLarge) }
    let match = router.count > 0 ? match(rawName) : router.noMatch
    guard history.isEnabled || !match.feeds.isEmpty else { return history.skip() }
    if broadcasts.isPending { for feed in match.feeds { feed.pointee.subscription.takeUnretainedValue().catchUp() } }
    let arrival = time.arrival
    let now = given.map { Int64(clamping: $0.time) } ?? stamp(arrival)
    stamp.set(sequence: sequence, time: now)
    var tail = emptyTail(for: size)
    let name = LocalNotification.eventTail(
      stamp, name: rawName, arguments: arguments, kwargs: kwargs, ack: nil, into: &tail)
    guard tail.count + Self.headAllowance <= lineLimit else {
      remember(.tooLarge, name: Self.name(of: rawName), arrival)
      return tell(.tooLarge, to: match)
    }
    deliveryCount &+= UInt64(truncatingIfNeeded: match.feeds.count)
    if match.feeds.count >= Self.many { router.work.note(match.feeds.count * Self.feedCost) }
    if wantsAnswer, match.hasAnswerer, let answer = token(match) {
      writeAnswerTail(rawName, arguments, kwargs, ack: answer)
      for feed in match.feeds { hand(feed.pointee.answers ? answerTail : tail, to: feed) }
    } else {
      fanOut(tail, match)
    }
    keep(consume tail, name: name, arrival)
  }

  /// The same event for those that answer it.
  @inline(never)
  private func writeAnswerTail(_ rawName: RawSpan, _ arguments: RawSpan, _ kwargs: RawSpan?, ack: String) {
    answerTail.removeAll(keepingCapacity: answerTail.capacity <= 1 << 16)
    LocalNotification.eventTail(
      stamp, name: rawName, arguments: arguments, kwargs: kwargs, ack: ack, into: &answerTail)
  }

  /// The time of an event that comes now and is none of this stream's.
  func stampNow() -> Int64 { stamp(time.arrival) }

  private func stamp(_ arrival: Arrival) -> Int64 {
    clock.stamp(wall: arrival.wallMilliseconds, now: arrival.instant)
  }

  /// The same for an event that is longer than any line, by its number of bytes: a gap of one for the subscriptions
  /// that want its name.
  func deliver(rawName: RawSpan, tooLong size: Int) {
    sequence += 1
    count(size)
    leaveHole(.tooLarge, named: rawName)
  }

  /// An event went over the link that is none of this stream's.
  func count(_ size: Int) {
    eventCount &+= 1
    byteCount += UInt64(size)
  }

  @inline(__always)
  private func match(_ rawName: RawSpan) -> Router.Match {
    router.match(rawName: rawName) { Self.name(of: rawName) }
  }

  /// What an event is written in: with a history in memory that it has let go, or made to measure, because it keeps the
  /// event.
  @inline(__always)
  private func emptyTail(for payload: Int) -> [UInt8] {
    if history.isEnabled { return history.takeTail(room: payload + Self.tailAllowance) }
    var tail: [UInt8] = []
    swap(&tail, &spareTail)
    tail.removeAll(keepingCapacity: tail.capacity <= 1 << 16)
    return tail
  }

  /// The history takes the tail of an event that was delivered, or the next event has its memory.
  @inline(__always)
  private func keep(_ tail: consuming [UInt8], name: Range<Int>, _ arrival: Arrival) {
    guard history.isEnabled else {
      // A long text goes as soon as the last output that refers to it has written it.
      if tail.count < ClientOutput.sharedFrom { spareTail = tail }
      return history.skip()
    }
    // First: what it writes ends before this event.
    log?.append(.event(tail), arrival: arrival.wallMilliseconds)
    history.append(tail: tail, name: name, at: arrival.instant)
  }

  /// The same for an event that cannot be shown.
  private func remember(_ reason: GapReason, name: String?, _ arrival: Arrival) {
    guard history.isEnabled else { return history.skip() }
    let hole = EventHistory.Content.hole(reason, name: name)
    log?.append(hole, arrival: arrival.wallMilliseconds)
    history.append(hole, at: arrival.instant)
  }

  /// Room for a tail's members beside the name and the arguments, an answer's token not counted.
  private static let tailAllowance = EventStamp.tailRoom + 8

  /// Room for the longest head: a subscription id of 128 bytes, each escaped.
  private static let headAllowance = 1_024

  /// For so many subscriptions an event is work to be noted: it takes about a tenth of a millisecond. Fewer take no long
  /// time between two looks at the clock.
  private static let many = 1_024
  /// What one of them counts, in bytes of compared names.
  private static let feedCost = 32
  /// What counts one that is told something else than an event.
  private static let toldCost = 128
  /// What counts one that is only asked whether it is concerned.
  private static let askedCost = 16

  /// An event that cannot be shown to any client: a gap of one for the subscriptions that want its name, for all of them
  /// where it has none.
  func lose(_ event: DroppedEvent) {
    sequence += 1
    eventCount &+= 1
    guard let name = event.name else { return leaveHole(event.reason, detail: event.detail) }
    leaveHole(event.reason, named: name.span.bytes, detail: event.detail)
  }

  private func leaveHole(_ reason: GapReason, named rawName: RawSpan, detail: String? = nil) {
    guard !EventName.isTooLong(rawName) else { return leaveHole(reason, detail: detail) }
    let match = router.count > 0 ? match(rawName) : router.noMatch
    guard history.isEnabled || !match.feeds.isEmpty else { return history.skip() }
    remember(reason, name: Self.name(of: rawName), time.arrival)
    tell(reason, detail: detail, to: match)
  }

  /// The event has no name that could be looked at, so that every subscription might have wanted it.
  private func leaveHole(_ reason: GapReason, detail: String? = nil) {
    remember(reason, name: nil, time.arrival)
    tellAll(gap(reason, detail))
  }

  /// The server has accepted us; events may come from now on. Unless it goes on where the last conversation ended, this
  /// is where an epoch that had one ends. Where the link gives places these have said both.
  func conversationBegan(isRecovered: Bool) {
    if hasGivenPlaces {
      continuity.beginByPlaces()
    } else if continuity.begin(isRecovered: isRecovered) == .next {
      beginEpoch()
    }
  }

  /// The link is gone, or the server has ended the conversation.
  func conversationEnded() { continuity.end() }

  /// A subscriber that asks for nothing of the past is about to be told the epoch. One that can only end, and that no
  /// other subscriber follows, ends now: what came before the subscription must not be announced to it as missing.
  func prepareForFreshSubscriber() {
    if continuity.phase == .interrupted, router.count == 0, given == nil { beginEpoch() }
  }

  /// Continuity with the upstream was lost, or nothing vouches any more for the numbers of the present epoch: begins a
  /// new one and tells every subscriber. A conversation goes on within it.
  func beginEpoch() {
    continuity.beginEpoch()
    history.begin(epoch: Self.freshEpoch(random))
    log?.begin(history.current)
    clock.beginEpoch()
    tellAll(.lostContinuity(epoch: epoch, after: sequence))
  }

  /// Takes other limits, and so do its subscriptions.
  func adopt(_ limits: Limits) {
    lineLimit = limits.line
    for subscription in subscriptions { subscription.adopt(limits) }
  }

  /// New bounds of a changed configuration.
  func adopt(_ settings: HistorySettings) {
    history.adopt(settings, now: time.now)
    log?.adopt(settings)
  }

  /// Lets go of what the history must not keep any longer; to be called now and then, as nothing may arrive. Returns
  /// whether that was all: if not, it is to be called again soon.
  func forgetOld() -> Bool {
    let isDone = history.trim(time.now)
    if isDone { log?.lookAfter() }
    return isDone
  }

  private func tell(_ reason: GapReason, detail: String? = nil, to match: Router.Match) {
    guard !match.feeds.isEmpty else { return }
    noteTold(match.feeds.count)
    let gap = gap(reason, detail)
    let shared = gap.notification
    for feed in match.feeds { feed.pointee.subscription.takeUnretainedValue().tell(gap, as: shared) }
  }

  /// The event of this moment is missing.
  private func gap(_ reason: GapReason, _ detail: String?) -> Backlog.Gap {
    Backlog.Gap(epoch: epoch, range: sequence...sequence, count: 1, reason: reason, detail: detail)
  }

  private func tellAll(_ gap: Backlog.Gap) {
    if router.count > 0 { broadcasts.tell(.gap(gap, gap.notification), in: self) }
  }

  /// The connection is in another state: those that want to know are told.
  func notifyStates(_ notification: SharedNotification) {
    if router.count > 0 { broadcasts.tell(.state(notification), in: self) }
  }

  /// There are no later turns: everybody is told everything now.
  func finishTelling() { broadcasts.finish(in: self) }

  /// So many were told something else than an event.
  func noteTold(_ count: Int) { router.work.note(count * Self.toldCost) }

  /// Clients that have something to be written.
  var writesDue: Int { outputs.dirtyCount }

  /// Those from a serial on, the oldest first.
  func subscriptions(from serial: UInt64) -> some Sequence<(place: UInt64, element: Subscription)> {
    router.all(from: serial)
  }

  // MARK: - Places that the link gives

  /// The next event has this place. What is left out before it is missing.
  func place(_ place: EventPlace) {
    let isFirst = given == nil && sequence == 0
    given = place
    guard place.epoch == epoch else { return beginEpoch(at: place, isFirst: isFirst) }
    let missing = place.sequence &- 1 &- sequence
    guard place.sequence > sequence + 1 else { return }
    continuity.miss()
    let first = sequence + 1
    if missing <= Self.missingLimit {
      for _ in 0..<missing { remember(.expired, name: nil, time.arrival) }
    } else {
      history.skip(to: place.sequence - 1)
    }
    sequence = place.sequence - 1
    tellAll(Backlog.Gap(epoch: epoch, range: first...sequence, count: missing, reason: .expired))
  }

  /// Whether the link has given a place, so that the numbers are those of other hosts.
  var hasGivenPlaces: Bool { given != nil }

  /// The links from now on give none: events are numbered here, and have the time of this host. What they bring belongs
  /// to another epoch.
  func giveItsOwnPlaces() {
    // No later link tells what they wait for.
    let passing = subscriptions.filter { $0.passedOver != nil }
    for subscription in passing { subscription.passOver(nil) }
    guard hasGivenPlaces || !passing.isEmpty else { return }
    given = nil
    if continuity.phase == .fresh { continuity.inheritPast() }
  }

  /// The links from now on give some, and none did so far. What they tell of the past came here by links of this host's own,
  /// or before there was one: the subscriptions that there are hear what comes behind it.
  func takePlaces(behind past: PastMark) {
    for subscription in subscriptions where subscription.passedOver == nil {
      subscription.passOver(PassedOver(in: epoch, until: past))
    }
  }

  /// What a subscription that asked for nothing of the past is told with the epoch in which it begins.
  static let beginning = "this host has just begun to read what its fleet has, and tells what comes from now on"

  /// Missing events that have places of their own in the history; of more nothing before them is kept.
  private static let missingLimit: UInt64 = 4_096

  /// `isFirst`: nothing was known of the numbers before, so that nothing was interrupted.
  private func beginEpoch(at place: EventPlace, isFirst: Bool) {
    continuity.miss()
    let start = place.sequence &- 1
    history.begin(epoch: place.epoch, skipping: start &- sequence)
    sequence = start
    var gap = Backlog.Gap.lostContinuity(epoch: epoch, after: sequence)
    if isFirst { gap.detail = Self.beginning }
    tellAll(gap)
  }

  /// The path of nearly every event: one line that all clients' outputs point to, or two copies where ids differ, and
  /// nothing else.
  private func fanOut(_ tail: [UInt8], _ match: Router.Match) {
    guard tail.count < ClientOutput.sharedFrom else {
      for feed in match.feeds { hand(tail, to: feed) }
      return
    }
    var kept: [UInt8]?
    tail.withUnsafeBytes { bytes in
      let line = match.commonHead.flatMap { outputs.assemble($0, bytes) }
      let common = line == nil ? nil : match.commonHead?.baseAddress
      match.feeds.withUnsafeBufferPointer { feeds in
        for feed in feeds {
          if feed.pointee.flows, feed.pointee.output.pointee.count < ClientOutput.directLimit {
            if let line, feed.pointee.head.baseAddress == common {
              outputs.append(line, to: feed.pointee.output)
            } else {
              outputs.append(feed.pointee.head, bytes, to: feed.pointee.output)
            }
          } else {
            let copy = kept ?? (history.isEnabled ? tail : Array(bytes))
            kept = copy
            hand(copy, to: feed)
          }
        }
      }
    }
  }

  @inline(never)
  private func hand(_ tail: [UInt8], to feed: SubscriptionFeed.Pointer) {
    feed.pointee.subscription.takeUnretainedValue().take(sequence: sequence, tail: tail, epoch: epoch)
  }

  /// The name behind its JSON text; a number stands for itself.
  static func name(of raw: RawSpan) -> String {
    guard raw.byteCount > 0, raw.unsafeLoad(fromByteOffset: 0, as: UInt8.self) == UInt8(ascii: "\"") else {
      return raw.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
    return JSONScanner.decodeString(raw, 0..<raw.byteCount)
  }
}
