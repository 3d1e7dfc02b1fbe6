/// A call of the local protocol after it was checked against the table of methods: what a local client asked for.
/// Byte arrays hold raw JSON text, exactly as the client wrote it. What is large stands apart, so that a call is small
/// wherever it is handed on.
public enum LocalCall: Equatable, Sendable {
  case hello(client: String?, version: Int?)
  indirect case subscribe(SubscribeCall)
  indirect case history(HistoryCall)
  case unsubscribe(subscription: String)
  case credit(subscription: String, count: Int)
  case send(SendCall)
  /// `request`: a `send` with `delivery: acked`.
  case request(SendCall)
  indirect case respond(RespondCall)
  indirect case wait(target: CallTarget, state: ConnectionState, timeout: Duration)
  indirect case status(target: CallTarget?)
  indirect case outboxList(OutboxSelection, limit: Int)
  indirect case outboxCancel(OutboxSelection)
  indirect case outboxRetry(OutboxSelection)
  indirect case outboxPurge(OutboxSelection)
  case drain(timeout: Duration?)
  case clientsList
  case clientsKick(client: String)
  indirect case reconnect(CallTarget)
  indirect case disconnect(CallTarget)
  indirect case release(CallTarget)
  indirect case doctor(CallTarget, timeout: Duration)
  indirect case trace(CallTarget, payloads: Bool)
  case untrace(trace: String)
  case reload
  case ping
  case cancel(id: RequestID)
  case discover
}

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

  public init(name: Name, namespace: String? = nil, auth: [UInt8]? = nil) {
    self.name = name
    self.namespace = namespace
    self.auth = auth
  }
}

/// Which entries of the outbox a call is about; nil does not narrow them.
public struct OutboxSelection: Equatable, Sendable {
  public var target: CallTarget?
  public var ids: [String]?
  public var states: Set<OutboxState>?

  public init(target: CallTarget? = nil, ids: [String]? = nil, states: Set<OutboxState>? = nil) {
    self.target = target
    self.ids = ids
    self.states = states
  }
}

/// Parameters of `subscribe`.
public struct SubscribeCall: Equatable, Sendable {
  public var target: CallTarget
  /// Names or globs; nil means every event.
  public var events: [String]?
  public var resume: Resume?
  public var strict = false
  /// Deliver every state transition too.
  public var state = false
  /// Receive `ack` tokens and answer them.
  public var answer = false
  /// Queue limit in events; nil means the configured one.
  public var queue: Int?
  public var onSlow: SlowPolicy = .dropOldest
  /// Deliver only so many events until `credit` adds more; nil means no such limit.
  public var credit: Int?
  /// The client's own id; nil lets the daemon choose.
  public var subscription: String?

  public init(target: CallTarget) { self.target = target }

  /// Where a subscriber left off.
  public enum Resume: Equatable, Sendable {
    case since(epoch: String, sequence: UInt64)
    case last(Int)
  }
}

/// Parameters of `history`.
public struct HistoryCall: Equatable, Sendable {
  public var target: CallTarget
  /// Names or globs; nil means every event.
  public var events: [String]?
  /// Nil: the newest ones.
  public var since: SubscribeCall.Resume?
  /// Most events of the answer.
  public var limit: Int

  public init(target: CallTarget, limit: Int) {
    self.target = target
    self.limit = limit
  }
}

/// What happens to a subscription whose client does not read. `on_slow`.
public enum SlowPolicy: String, CaseIterable, Sendable {
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

/// Parameters of `respond`.
public struct RespondCall: Equatable, Sendable {
  public var ack: String
  /// Raw JSON array text; `[]` when absent.
  public var args: [UInt8]
  /// Raw JSON object text; nil when absent.
  public var kwargs: [UInt8]?
  /// The answer is an error of that name.
  public var error: String?

  public init(ack: String, args: [UInt8], kwargs: [UInt8]? = nil, error: String? = nil) {
    self.ack = ack
    self.args = args
    self.kwargs = kwargs
    self.error = error
  }
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

  public init(value: Value, text: [UInt8]) {
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

/// One line of a local client, understood.
public struct LocalRequest: Equatable, Sendable {
  /// Nil for a notification, which is never answered.
  public var id: RequestID?
  public var call: LocalCall
  public init(id: RequestID?, call: LocalCall) {
    self.id = id
    self.call = call
  }
}
