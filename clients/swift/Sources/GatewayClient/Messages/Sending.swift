/// When a send is answered, and what became of it ("Sending" in docs/protocol.md).
public struct Delivery: RawRepresentable, Sendable, Hashable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The daemon has it in memory.
  public static let accepted = Delivery(rawValue: "accepted")
  /// It is on the daemon's disk, synced.
  public static let durable = Delivery(rawValue: "durable")
  /// It was written to the server.
  public static let sent = Delivery(rawValue: "sent")
  /// The server has acknowledged it.
  public static let acked = Delivery(rawValue: "acked")
  /// Of a volatile one: it could not be written at once.
  public static let dropped = Delivery(rawValue: "dropped")
}

/// How a message is sent, where it is not as usual ("send" in docs/protocol.md).
public struct SendOptions: Sendable, Hashable {
  /// A name of yours for this message: sent again with the same content it is not sent twice.
  public var key: String?
  /// How long it may wait for the connection.
  public var ttl: Duration?
  /// Write it up to so many times more until the server acknowledges it.
  public var retries: Int?
  /// How long each write waits for its acknowledgement.
  public var ackTimeout: Duration?
  /// It takes the place of an earlier one with the same value that still waits.
  public var coalesce: String?
  /// Fail with `UpstreamDown` rather than wait.
  public var noQueue: Bool
  /// Drop it rather than wait. Not for `request`.
  public var volatile: Bool
  /// False: do not compress it.
  public var compress: Bool?
  /// An object of keyword arguments, where the kind of upstream has such.
  public var kwargs: JSON?

  public init(
    key: String? = nil, ttl: Duration? = nil, retries: Int? = nil, ackTimeout: Duration? = nil, coalesce: String? = nil,
    noQueue: Bool = false, volatile: Bool = false, compress: Bool? = nil, kwargs: JSON? = nil
  ) {
    self.key = key
    self.ttl = ttl
    self.retries = retries
    self.ackTimeout = ackTimeout
    self.coalesce = coalesce
    self.noQueue = noQueue
    self.volatile = volatile
    self.compress = compress
    self.kwargs = kwargs
  }

  /// Adds them to the params of a call.
  func add(to params: inout Params) {
    params["key"] = key.map { .string($0) }
    params["ttl"] = ttl.map { .number(JSONNumber($0.wholeMilliseconds)) }
    params["retries"] = retries.map { .number(JSONNumber($0)) }
    params["ack_timeout"] = ackTimeout.map { .number(JSONNumber($0.wholeMilliseconds)) }
    params["coalesce"] = coalesce.map { .string($0) }
    params["no_queue"] = noQueue ? true : nil
    params["volatile"] = volatile ? true : nil
    params["compress"] = compress.map { .bool($0) }
    params.add("kwargs", kwargs.map { JSONWriter.text(of: $0, form: .payload) })
  }
}

/// What became of a send.
public struct Sent: Sendable, Hashable {
  public let id: String
  /// As it was asked for, or `dropped`; of a repeated `key` what the first one is by now.
  public let state: Delivery
  /// The `key` was known: nothing was sent again.
  public let isDuplicate: Bool
  /// With `acked`: the arguments of the acknowledgement.
  public let args: Arguments?
  /// Whether the connection is up, and why not.
  public let upstream: StateChange?

  init?(_ result: RawObject) {
    guard let id = result.string("id"), let state = result.string("state") else { return nil }
    self.id = id
    self.state = Delivery(rawValue: state)
    isDuplicate = result.bool("duplicate") ?? false
    args = result.text("args").map { Arguments(unchecked: $0) }
    upstream = result.object("upstream").flatMap { StateChange($0) }
  }
}

/// The server's answer to a request, or a part of it.
public struct Answer: Sendable, Hashable {
  public let args: Arguments
  /// Keyword arguments, where the kind of upstream has such.
  public let kwargs: JSON?
  /// Of a repeated `key`, whose answer is not kept: what the first request is by now.
  public let state: Delivery?

  /// The first arguments, as these types.
  public func decode<each Value: Decodable>(_ type: repeat (each Value).Type) throws -> (repeat each Value) {
    try args.decode(repeat each type)
  }

  init(_ result: RawObject) {
    args = result.text("args").map { Arguments(unchecked: $0) } ?? .none
    kwargs = result.json("kwargs", form: .payload)
    state = result.string("state").map { Delivery(rawValue: $0) }
  }
}

extension Duration {
  /// The longest time that the protocol takes: ten years.
  static let longest = Duration.milliseconds(315_360_000_000)

  /// From nothing to the longest time that the protocol takes.
  var bounded: Duration { min(max(self, .zero), .longest) }

  /// In milliseconds, rounded up: who waits a little has asked for more than nothing.
  var wholeMilliseconds: Int {
    let (seconds, attoseconds) = bounded.components
    return Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }
}
