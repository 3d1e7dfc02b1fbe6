/// The number of a subscription of one client.
typealias SubscriptionID = Int

/// A subscription that outlives its connections to the daemon: it knows the last event that it received, and is made again
/// behind that one, so that none is lost and none comes twice.
struct SubscriptionMachine: Sendable {
  enum Stage: Sendable, Equatable {
    /// The first `subscribe` is not answered; becomes `live` or `over`.
    case beginning
    /// Becomes `away` or `over`.
    case live
    /// The daemon is gone, or could not make it again yet; becomes `live` or `over`.
    case away
    /// Nothing follows what is in the buffer; then its reader is told the error.
    case over(GatewayError?)
  }

  /// What a reader gets.
  enum Taken: Sendable, Equatable {
    case item(Item)
    /// Not now.
    case nothing
    /// Nothing comes any more.
    case end(GatewayError?)
  }

  /// An item, and the position behind it. Without an item it only moves the position.
  private struct Entry {
    let item: Item?
    let position: Position
  }

  /// Its name on the socket.
  let name: String
  let options: SubscribeOptions
  private(set) var stage = Stage.beginning
  /// Behind the last item that was taken: the `since` with which another program would go on.
  private(set) var position: Position?
  /// When it is asked for again, after a refusal that need not last.
  var retryAt: ContinuousClock.Instant?
  /// Behind the last thing that came from the daemon: there the next subscription begins.
  private var received: Position?
  /// Nothing of what `last` brings is here yet: all of it has to come again.
  private var awaitsLast = false
  private var buffer = Queue<Entry>()
  /// Events in the buffer.
  private var buffered = 0
  /// Events that the daemon may still send.
  private var granted = 0

  init(name: String, options: SubscribeOptions) {
    self.name = name
    self.options = options
    received = options.since
    position = options.since
  }

  var isOver: Bool { if case .over = stage { true } else { false } }

  // MARK: With the daemon

  /// The params of the next `subscribe`.
  mutating func ask() -> Params {
    var params = options.params(id: name)
    if let since {
      params["since"] = ["epoch": .string(since.epoch), "seq": .number(JSONNumber(since.seq))]
    } else {
      params["last"] = options.last.map { .number(JSONNumber($0)) }
    }
    // Later what is missing becomes a gap: the program has its strict beginning already.
    if options.isStrict, stage == .beginning { params["strict"] = true }
    if let window = options.window {
      granted = max(0, window - buffered)
      params["credit"] = .number(JSONNumber(granted))
    }
    return params
  }

  private var since: Position? { awaitsLast ? nil : received }

  /// The daemon made it. Returns false where the answer is none.
  mutating func begin(_ result: RawObject) -> Bool {
    guard let epoch = result.string("epoch"), let seq = result.int("seq") else { return false }
    let isReplaying = (result.int("replayed") ?? 0) > 0
    if since == nil {
      awaitsLast = isReplaying
      // The replay may begin in an earlier epoch; a gap tells where that ends.
      received =
        isReplaying
        ? Position(epoch: result.string("first_epoch") ?? epoch, seq: 0) : Position(epoch: epoch, seq: seq)
    }
    stage = .live
    retryAt = nil
    let facts = result.object("upstream").flatMap { StateChange($0) }
    let state = ConnectionState(rawValue: result.string("state") ?? "")
    put(.state(StateChange(state: state, reason: facts?.reason, detail: facts?.detail)))
    return true
  }

  /// The daemon is gone.
  mutating func lose(_ error: GatewayError) {
    retryAt = nil
    guard stage == .live else { return }
    stage = .away
    put(.state(StateChange(state: .daemonLost, detail: error.message)))
  }

  /// An `event`, a `gap` or a `state`. Returns false where it is none of the protocol.
  mutating func take(_ method: String, _ params: RawObject) -> Bool {
    guard stage == .live, let here = received else { return true }
    switch method {
    case "event":
      guard let event = Event(params, epoch: here.epoch) else { return false }
      received = event.position
      awaitsLast = false
      granted -= 1
      buffered += 1
      put(.event(event))
    case "gap":
      guard let gap = Gap(params) else { return false }
      // Nothing else moves a position into another epoch: a state that names one comes before the gap that announces it,
      // and who came back in between would never hear of that gap.
      received = Position(epoch: gap.epoch, seq: max(gap.seq ?? here.seq, gap.last ?? 0))
      awaitsLast = false
      put(.gap(gap))
    case "state":
      guard let change = StateChange(params) else { return false }
      put(.state(change))
    default: break
    }
    return true
  }

  /// How many more events the daemon may send, when at least half of the window is free.
  mutating func grant() -> Int? {
    guard let window = options.window, stage == .live else { return nil }
    let room = window - buffered - granted
    guard room > 0, room * 2 >= window else { return nil }
    granted += room
    return room
  }

  /// Nothing follows what is there already; of what was closed nothing at all.
  mutating func finish(_ error: GatewayError?) {
    guard !isOver else { return }
    stage = .over(error)
    retryAt = nil
    if error == nil { buffer.removeAll() }
  }

  // MARK: With the program

  /// The next item.
  mutating func take() -> Taken {
    while let entry = buffer.popFirst() {
      position = entry.position
      guard let item = entry.item else { continue }
      if case .event = item { buffered -= 1 }
      return .item(item)
    }
    guard case .over(let error) = stage else { return .nothing }
    // An error is told once.
    stage = .over(nil)
    return .end(error)
  }

  private mutating func put(_ item: Item) {
    guard let here = received else { return }
    let entry = Entry(item: isWanted(item) ? item : nil, position: here)
    if entry.item != nil {
      buffer.append(entry)
    } else if let last = buffer.last {
      // However many unwanted ones come, they take the room of one.
      if last.item == nil { buffer.replaceLast(with: entry) } else { buffer.append(entry) }
    } else {
      position = here
    }
  }

  private func isWanted(_ item: Item) -> Bool {
    switch item {
    case .event: true
    case .gap: options.wantsGaps
    case .state: options.wantsStates
    }
  }
}
