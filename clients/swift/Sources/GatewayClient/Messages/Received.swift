/// A place in the events of a connection: everything up to `seq` in `epoch`. Keep it to go on there later.
public struct Position: Sendable, Hashable, Codable {
  public var epoch: String
  public var seq: Int

  public init(epoch: String, seq: Int) {
    self.epoch = epoch
    self.seq = seq
  }
}

/// What a subscription brings.
public enum Item: Sendable, Hashable {
  case event(Event)
  /// Where a subscription was made with `gaps`.
  case gap(Gap)
  /// Where it was made with `states`.
  case state(StateChange)
}

/// An event of the server.
public struct Event: Sendable, Hashable {
  public let name: String
  public let args: Arguments
  /// Keyword arguments, where the kind of upstream has such.
  public let kwargs: JSON?
  /// Its number, which never repeats within an epoch.
  public let seq: Int
  public let epoch: String
  /// When it came, in milliseconds since 1970.
  public let time: Int
  /// The token that `Gateway.respond` answers with, where the server waits for an answer and the subscription was made with
  /// `answer`.
  public let ack: String?

  /// The place behind this event.
  public var position: Position { Position(epoch: epoch, seq: seq) }

  /// The first arguments, as these types: `let (name, count) = try event.decode(String.self, Int.self)`.
  public func decode<each Value: Decodable>(_ type: repeat (each Value).Type) throws -> (repeat each Value) {
    try args.decode(repeat each type)
  }

  /// An event of the local protocol. Nil where a member is missing.
  init?(_ params: RawObject, epoch: String) {
    guard let name = params.string("event"), let seq = params.int("seq"), let args = params.text("args") else {
      return nil
    }
    self.name = name
    self.args = Arguments(unchecked: args)
    kwargs = params.json("kwargs", form: .payload)
    self.seq = seq
    self.epoch = epoch
    time = params.int("time") ?? 0
    ack = params.string("ack")
  }
}

/// Events are missing here ("Gaps" in docs/protocol.md).
public struct Gap: Sendable, Hashable {
  /// `slow_consumer`, `upstream`, `too_large`, `undecodable` or `expired`.
  public let reason: String
  public let epoch: String
  /// How many were missed, where that is known.
  public let count: Int?
  /// The missing numbers, where they are known.
  public let first: Int?
  public let last: Int?
  /// Behind which number a new epoch begins.
  public let seq: Int?
  public let detail: String?

  init?(_ params: RawObject) {
    guard let reason = params.string("reason"), let epoch = params.string("epoch") else { return nil }
    self.reason = reason
    self.epoch = epoch
    count = params.int("count")
    first = params.int("from")
    last = params.int("to")
    seq = params.int("seq")
    detail = params.string("detail")
  }
}

/// The state of the shared connection to an upstream ("States" in docs/protocol.md).
public struct ConnectionState: RawRepresentable, Sendable, Hashable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Made, and its first attempt is not decided.
  public static let created = ConnectionState(rawValue: "created")
  public static let connected = ConnectionState(rawValue: "connected")
  /// Nothing is being tried.
  public static let disconnected = ConnectionState(rawValue: "disconnected")
  /// An attempt is under way.
  public static let reconnecting = ConnectionState(rawValue: "reconnecting")
  /// There is none.
  public static let released = ConnectionState(rawValue: "released")
  /// This program has lost the daemon, and is looking for it.
  public static let daemonLost = ConnectionState(rawValue: "daemon_lost")
}

/// The connection to an upstream is in this state now.
public struct StateChange: Sendable, Hashable {
  public let state: ConnectionState
  /// Why it is down ("Why a connection is down" in docs/protocol.md), and the same in one sentence.
  public let reason: String?
  public let detail: String?
  /// The number of the attempt that comes, and how long until then.
  public let attempt: Int?
  public let next: Duration?
  /// The server gave what was missed; the epoch goes on.
  public let isRecovered: Bool

  init(state: ConnectionState, reason: String? = nil, detail: String? = nil) {
    self.state = state
    self.reason = reason
    self.detail = detail
    attempt = nil
    next = nil
    isRecovered = false
  }

  /// A `state` notification, the `upstream` of an answer, or a connection of `status`.
  init?(_ params: RawObject) {
    guard let state = params.string("state") else { return nil }
    self.state = ConnectionState(rawValue: state)
    reason = params.string("reason")
    detail = params.string("detail")
    attempt = params.int("attempt")
    next = params.int("in").map { .milliseconds($0) }
    isRecovered = params.bool("recovered") ?? false
  }
}

/// Past events.
public struct History: Sendable, Hashable {
  /// Oldest first. All have the present epoch, although some may be of earlier ones, between which nothing tells what is
  /// missing: who goes on from here does so with `position`.
  public let events: [Event]
  /// Where the answer ends: the `since` of the next.
  public let position: Position
  /// Everything that was asked for is there.
  public let isComplete: Bool
  /// There are more behind `position`.
  public let hasMore: Bool

  init?(_ result: RawObject) {
    guard let epoch = result.string("epoch"), let seq = result.int("seq"), let events = result.objects("events") else {
      return nil
    }
    self.events = events.compactMap { Event($0, epoch: epoch) }
    position = Position(epoch: epoch, seq: seq)
    isComplete = result.bool("complete") ?? false
    hasMore = result.bool("more") ?? false
  }
}
