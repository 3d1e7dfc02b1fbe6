/// One message from a router. What it carries stays where it is: ranges of bytes in the text that was read. Ids are within
/// 1…2^53, options and details are objects, URIs are strings with their quotes.
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

  /// How many bytes they have in the text.
  var byteCount: Int { (arguments?.count ?? 0) + (keywords?.count ?? 0) }
}
