/// Puts what goes over a link into words for the observers of its connection. Exists only while there is one.
final class DirectTrace {
  private let observer: any UpstreamObserver
  private let layer: TraceFact.Layer
  private let server: String
  private var redaction = Redaction()

  init(_ observer: any UpstreamObserver, layer: TraceFact.Layer, server: String, _ secrets: ConnectSecrets?) {
    self.observer = observer
    self.layer = layer
    self.server = server
    if let payload = secrets?.payload { redaction.add(json: payload) }
  }

  /// One message in words; `payload` is its text, which is shown only to an observer that wants it, without known
  /// secrets.
  func message(_ direction: TraceFact.Direction, _ text: String, payload: RawSpan) {
    var fact = TraceFact(direction, layer, text, of: .message)
    if payload.byteCount > 0, observer.wantsPayloads {
      fact.payload = redaction.shown(payload, limit: TraceFact.payloadLimit)
    }
    observer.observed(fact)
  }

  /// One message whose payload is never shown, such as credentials.
  func message(_ direction: TraceFact.Direction, _ text: String) {
    observer.observed(TraceFact(direction, layer, text, of: .message))
  }

  func dialled(_ request: DialRequest) {
    redaction.add(request)
    let names = request.headers.map(\.name).joined(separator: ", ")
    tell(
      .outgoing,
      "DIAL \(server)\(Redaction.shown(target: request.target))" + (names.isEmpty ? "" : ", headers \(names)"))
  }

  func opened(_ facts: TransportFacts) { tell(.incoming, TraceDescription.opened(facts)) }
  func closed(_ failure: UpstreamFailure) { tell(.incoming, "CLOSED \(TraceDescription.failure(failure))") }
  func hungUp() { tell(.outgoing, "CLOSE") }

  func ended(_ failure: UpstreamFailure) {
    observer.observed(TraceFact(.incoming, layer, "END \(TraceDescription.failure(failure))"))
  }

  private func tell(_ direction: TraceFact.Direction, _ text: String) {
    observer.observed(TraceFact(direction, .http, text))
  }
}
