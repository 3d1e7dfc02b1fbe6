/// Everything secret that was read for one attempt to connect. Never shown.
struct ConnectSecrets: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
  /// The CONNECT payload, a JSON object; nil for none.
  var payload: [UInt8]?
  /// Headers whose values were read from elsewhere.
  var headers: [HTTPHeader] = []
  /// Query parameters whose values were read from elsewhere; not yet percent-encoded.
  var query: [QueryItem] = []

  var description: String { "secrets" }
  var customMirror: Mirror { Mirror(reflecting: description) }
}

extension DialRequest {
  /// With the headers and query parameters that were read for this attempt.
  func adding(_ secrets: ConnectSecrets) -> DialRequest {
    guard !secrets.headers.isEmpty || !secrets.query.isEmpty else { return self }
    var request = self
    request.headers += secrets.headers
    for item in secrets.query {
      request.target += request.target.contains("?") ? "&" : "?"
      request.target += "\(PercentEncoding.component(item.name))=\(PercentEncoding.component(item.value))"
    }
    return request
  }
}
