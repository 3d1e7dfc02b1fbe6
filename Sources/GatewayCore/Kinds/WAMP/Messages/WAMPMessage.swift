/// One message from a router. What it carries stays where it is: ranges of bytes in the text that was read. Ids are
/// within 1…2^53, options and details are objects, URIs are strings with their quotes.
enum WAMPMessage: Equatable, Sendable {
  case welcome(session: UInt64, details: Range<Int>)
  case abort(details: Range<Int>, reason: Range<Int>)
  case challenge(method: Range<Int>, extra: Range<Int>)
  case goodbye(details: Range<Int>, reason: Range<Int>)
  case error(type: WAMPCode, request: UInt64, uri: Range<Int>, payload: WAMPPayload)
  case published(request: UInt64, publication: UInt64)
  case subscribed(request: UInt64, subscription: UInt64)
  case unsubscribed(request: UInt64)
  /// `[35, 0, {subscription, reason}]`: the router takes a subscription back.
  case subscriptionRevoked(details: Range<Int>)
  case event(subscription: UInt64, publication: UInt64, details: Range<Int>, payload: WAMPPayload)
  case result(request: UInt64, details: Range<Int>, payload: WAMPPayload)
  case registered(request: UInt64, registration: UInt64)
  case unregistered(request: UInt64)
  /// `[67, 0, {registration, reason}]`.
  case registrationRevoked(details: Range<Int>)
  case invocation(request: UInt64, registration: UInt64, details: Range<Int>, payload: WAMPPayload)
  case interrupt(request: UInt64)

  var code: WAMPCode {
    switch self {
    case .welcome: .welcome
    case .abort: .abort
    case .challenge: .challenge
    case .goodbye: .goodbye
    case .error: .error
    case .published: .published
    case .subscribed: .subscribed
    case .unsubscribed, .subscriptionRevoked: .unsubscribed
    case .event: .event
    case .result: .result
    case .registered: .registered
    case .unregistered, .registrationRevoked: .unregistered
    case .invocation: .invocation
    case .interrupt: .interrupt
    }
  }
}

/// `Arguments` and `ArgumentsKw` of a message: an array and an object in the text that was read; nil where they are
/// missing.
struct WAMPPayload: Equatable, Sendable {
  var arguments: Range<Int>?
  var keywords: Range<Int>?
  /// Among them, or elsewhere in the message, are `NonNumbers`: it cannot be handed on.
  var hasNonNumbers = false
  /// They, or something else in the message, are nested more deeply than programs can be told.
  var isTooDeep = false

  /// How many bytes they have in the text.
  var byteCount: Int { (arguments?.count ?? 0) + (keywords?.count ?? 0) }
}

/// The types of WAMP messages, by the number that begins each (WAMP section "Message Definitions").
enum WAMPCode: UInt16, CaseIterable, Sendable {
  case hello = 1
  case welcome = 2
  case abort = 3
  case challenge = 4
  case authenticate = 5
  case goodbye = 6
  case error = 8
  case publish = 16
  case published = 17
  case subscribe = 32
  case subscribed = 33
  case unsubscribe = 34
  case unsubscribed = 35
  case event = 36
  case call = 48
  case cancel = 49
  case result = 50
  case register = 64
  case registered = 65
  case unregister = 66
  case unregistered = 67
  case invocation = 68
  case interrupt = 69
  case yield = 70

  /// Whether it begins, proves or ends a session.
  var isAboutSession: Bool {
    switch self {
    case .hello, .welcome, .abort, .challenge, .authenticate, .goodbye: true
    case .error, .publish, .published, .subscribe, .subscribed, .unsubscribe, .unsubscribed, .event, .call, .cancel,
      .result, .register, .registered, .unregister, .unregistered, .invocation, .interrupt, .yield:
      false
    }
  }

  /// As people write it, such as `SUBSCRIBED`.
  var word: String { "\(self)".uppercased() }
}

/// Ids of WAMP (section "IDs"): integers that a double holds exactly.
enum WAMPID {
  static let range: ClosedRange<UInt64> = 1...1 << 53
}

/// The ids of our requests in one session: one sequence for requests of every type, from 1 in steps of 1, because
/// strict routers take a gap for a violation.
struct WAMPRequestIDs: Equatable, Sendable {
  /// The id that the next request will have.
  private(set) var next: UInt64 = 1

  init(next: UInt64 = 1) { self.next = next }

  /// Behind the last one comes the first again (section "IDs").
  mutating func take() -> UInt64 {
    defer { next = next < WAMPID.range.upperBound ? next + 1 : 1 }
    return next
  }
}
