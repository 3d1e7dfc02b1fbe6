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
