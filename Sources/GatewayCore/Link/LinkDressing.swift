/// What a request of a link gets beyond the configuration: secrets that were read for the attempt, and cookies.
extension DialRequest {
  /// With the headers and query parameters that were read. What was declared to be a secret does not go to a host that a
  /// redirect named.
  func adding(_ secrets: ConnectSecrets?, at place: DialTarget) -> DialRequest {
    guard var secrets else { return self }
    if place.isForeign { secrets.headers = [] }
    return adding(secrets)
  }

  /// With the cookies that the server has set so far.
  func adding(_ cookies: CookieJar, at place: DialTarget, now: Int64) -> DialRequest {
    guard let text = cookies.header(path: place.endpoint.path, now: now) else { return self }
    var request = self
    if let own = headers.firstIndex(where: { $0.name.lowercased() == "cookie" }) {
      request.headers[own].value += "; " + text
    } else {
      request.headers.append(HTTPHeader(name: "Cookie", value: text))
    }
    return request
  }
}

extension CookieJar {
  /// Takes the cookies out of an answer's header lines.
  mutating func store(_ headers: [HTTPHeader], from place: DialTarget, now: Int64) {
    let endpoint = place.endpoint
    store(
      headers,
      from: Cookie.Origin(host: endpoint.host, path: endpoint.path, isSecure: endpoint.secure, now: now))
  }
}
