/// What people see who watch a connection.
extension WAMPConversation {
  func observe(_ message: WAMPMessage, _ text: RawSpan) {
    guard let bearer, bearer.isObserved else { return }
    guard text.byteCount <= bearer.lineLimit else {
      return bearer.observed(.incoming, "\(message.code.word) (\(text.byteCount) bytes, more than a line)", nil)
    }
    bearer.observed(.incoming, WAMPDescription.received(message, name: name(of: message, text), text), text)
  }

  /// What the ids of a message stand for.
  private func name(of message: WAMPMessage, _ text: RawSpan) -> String? {
    switch message {
    case .event(let id, _, let details, _):
      WAMPDetails.words("topic", in: text, details, limit: 200) ?? subscriptions.grants.topic(id)?.topic.uri
    case .invocation(_, let id, let details, _):
      WAMPDetails.words("procedure", in: text, details, limit: 200) ?? registrations.grants.topic(id)?.topic.uri
    case .subscribed(let request, _), .unsubscribed(let request): subscriptions.grants.topic(ofRequest: request)?.uri
    case .registered(let request, _), .unregistered(let request): registrations.grants.topic(ofRequest: request)?.uri
    case .subscriptionRevoked(let details):
      WAMPDetails.id("subscription", in: text, details).flatMap { subscriptions.grants.topic($0)?.topic.uri }
    case .registrationRevoked(let details):
      WAMPDetails.id("registration", in: text, details).flatMap { registrations.grants.topic($0)?.topic.uri }
    case .welcome, .abort, .challenge, .goodbye, .error, .published, .result, .interrupt: nil
    }
  }
}
