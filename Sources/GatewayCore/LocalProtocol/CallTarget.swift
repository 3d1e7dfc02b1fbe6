/// Which upstream a call is about.
public struct CallTarget: Equatable, Sendable {
  public enum Name: Equatable, Sendable {
    case upstream(String)
    case url(String)
  }
  public var name: Name
  public var namespace: String?
  /// Raw JSON object text; only with `url`. Secret.
  public var auth: [UInt8]?

  init(name: Name, namespace: String? = nil, auth: [UInt8]? = nil) {
    self.name = name
    self.namespace = namespace
    self.auth = auth
  }
}

/// Parameters of `subscribe`.
public struct SubscribeCall: Equatable, Sendable {
  public var target: CallTarget
  /// Names or globs; nil means every event.
  public var events: [String]?
  public var resume: Resume?
  var strict = false
  /// Deliver every state transition too.
  public var state = false
  /// Receive `ack` tokens and answer them.
  public var answer = false
  /// Queue limit in events; nil means the configured one.
  public var queue: Int?
  var onSlow: SlowPolicy = .dropOldest
  /// Deliver only so many events until `credit` adds more; nil means no such limit.
  var credit: Int?
  /// The client's own id; nil lets the daemon choose.
  public var subscription: String?

  init(target: CallTarget) { self.target = target }

  /// Where a subscriber left off.
  public enum Resume: Equatable, Sendable {
    case since(epoch: String, sequence: UInt64)
    case last(Int)
  }
}

/// What happens to a subscription whose client does not read. `on_slow`.
enum SlowPolicy: String, CaseIterable, Sendable {
  /// The oldest queued events make room; a gap stands in their place.
  case dropOldest = "drop_oldest"
  /// The client is disconnected.
  case disconnect
  /// What is queued stays; newer events are not taken until the client has read, then a gap names them.
  case pause
}

/// When a send is answered.
public enum DeliveryLevel: String, CaseIterable, Sendable {
  /// In the daemon's memory.
  case accepted
  /// On disk, synced.
  case durable
  /// Written to the upstream's transport.
  case sent
  /// Acknowledged by the server.
  case acked
}

/// The id of a call, echoed as it was written.
public struct RequestID: Hashable, Sendable {
  public enum Value: Hashable, Sendable {
    case integer(Int64)
    case string(String)
  }
  /// What makes two ids the same.
  public let value: Value
  /// The JSON text to echo; empty for an integer in its usual form.
  let text: [UInt8]

  init(value: Value, text: [UInt8]) {
    self.value = value
    self.text = text
  }

  /// Echoes the id as it was written.
  public func write(into out: inout JSONWriter) {
    if text.isEmpty, case .integer(let integer) = value { out.integer(integer) } else { out.raw(text) }
  }

  public static func == (a: Self, b: Self) -> Bool { a.value == b.value }
  public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
