/// An error of the local protocol: a code and type for programs, a sentence for people, and typed facts.
public struct LocalError: Error, Equatable, Sendable {
  var kind: Kind
  /// One sentence for a person: what happened, and what to do.
  var message: String
  /// Further members of `data`, in order.
  var facts: [Fact]

  public init(_ kind: Kind, _ message: String, _ facts: [Fact] = []) {
    self.kind = kind
    self.message = message
    self.facts = facts
  }

  /// Longest text in it, in bytes; what a server or a client wrote may be in any of them.
  static let textLimit = 4 << 10

  /// The same for a line that it does not fit into: without raw JSON, in whose place stand the limit and the size, and
  /// where that is not enough with shorter texts.
  func fitting(_ limit: Int, size: Int) -> LocalError {
    // A text of 1/32 of the line, each byte of it escaped, leaves room for four others and for the id.
    let textLimit = max(16, min(Self.textLimit, limit / 32))
    var fitting = LocalError(kind, message.shortened(to: textLimit))
    for fact in facts {
      switch fact.value {
      case .raw: if kind != .requestFailed { fitting.facts.append(Fact(fact.name, .null)) }
      case .string(let text): fitting.facts.append(Fact(fact.name, .string(text.shortened(to: textLimit))))
      case .integer, .null: fitting.facts.append(fact)
      }
    }
    fitting.facts += [Fact("limit", .integer(limit)), Fact("size", .integer(size))]
    return fitting
  }

  /// One member of `data`.
  public struct Fact: Equatable, Sendable {
    enum Value: Equatable, Sendable {
      case string(String)
      case integer(Int)
      case raw([UInt8])
      case null
    }
    var name: String
    var value: Value
    init(_ name: String, _ value: Value) {
      self.name = name
      self.value = value
    }
  }

  /// `data.type`, which never changes once released.
  public enum Kind: String, CaseIterable, Sendable {
    case parseError = "ParseError"
    case invalidRequest = "InvalidRequest"
    case methodNotFound = "MethodNotFound"
    case invalidParams = "InvalidParams"
    case internalError = "InternalError"
    case cancelled = "Cancelled"
    case permissionDenied = "PermissionDenied"
    case upstreamUnknown = "UpstreamUnknown"
    case upstreamDown = "UpstreamDown"
    case queueFull = "QueueFull"
    case expired = "Expired"
    case ackTimeout = "AckTimeout"
    case ackLost = "AckLost"
    case quotaExceeded = "QuotaExceeded"
    case unrecoverable = "Unrecoverable"
    case draining = "Draining"
    case conflict = "Conflict"
    case payloadTooLarge = "PayloadTooLarge"
    case upstreamRefused = "UpstreamRefused"
    case illegalState = "IllegalState"
    case ackGone = "AckGone"
    case requestFailed = "RequestFailed"
  }
}

extension LocalError.Kind {
  /// The JSON-RPC error code.
  public var code: Int { row.code }

  /// Whether trying the same again later may succeed; nil where only the caller can judge.
  var retry: Bool? { row.retry }

  /// The one table of errors.
  private var row: (code: Int, retry: Bool?) {
    switch self {
    case .parseError: (-32700, false)
    case .invalidRequest: (-32600, false)
    case .methodNotFound: (-32601, false)
    case .invalidParams: (-32602, false)
    case .internalError: (-32603, true)
    case .cancelled: (-32800, nil)
    case .permissionDenied: (-32001, false)
    case .upstreamUnknown: (-32002, false)
    case .upstreamDown: (-32003, true)
    case .queueFull: (-32004, true)
    case .expired: (-32005, false)
    case .ackTimeout: (-32006, nil)
    case .ackLost: (-32007, nil)
    case .quotaExceeded: (-32008, true)
    case .unrecoverable: (-32009, false)
    case .draining: (-32010, true)
    case .conflict: (-32011, false)
    case .payloadTooLarge: (-32012, false)
    case .upstreamRefused: (-32013, false)
    case .illegalState: (-32014, false)
    case .ackGone: (-32015, false)
    case .requestFailed: (-32016, false)
    }
  }
}

extension SharedBounds.Overrun {
  /// What is used up, in a sentence.
  func words(_ unit: String) -> String {
    switch self {
    case .share(let limit): "\(limit) \(unit) of this user"
    case .total(let limit): "\(limit) \(unit) of all users"
    }
  }

  /// `limit`, and `share` where it is one user's.
  var facts: [LocalError.Fact] {
    switch self {
    case .share(let limit): [.init("limit", .integer(limit)), .init("share", .integer(limit))]
    case .total(let limit): [.init("limit", .integer(limit))]
    }
  }

  /// The same where `limit` is what all may have.
  func facts(of bounds: SharedBounds) -> [LocalError.Fact] {
    switch self {
    case .share(let share): [.init("limit", .integer(bounds.total)), .init("share", .integer(share))]
    case .total(let limit): [.init("limit", .integer(limit))]
    }
  }
}
