/// How the URL of one upstream is spelled: for comparing, for people, for the daemon's files.
extension UpstreamURL {
  /// The one spelling of all URLs that mean the same: `ws` is `http`, `wss` is `https`, the port is always there, the
  /// host is in lower case, an empty path is `/`, an empty query is none, and the fragment of these, which is never
  /// sent, is gone. User info stays, because it is a part of what the server sees.
  var canonical: UpstreamURL {
    var url = self
    url.scheme = scheme.lowercased()
    if url.scheme == "ws" { url.scheme = "http" }
    if url.scheme == "wss" { url.scheme = "https" }
    url.host = host.lowercased()
    url.port = url.effectivePort
    if path.isEmpty { url.path = "/" }
    if query?.isEmpty == true { url.query = nil }
    if isWeb { url.fragment = nil }
    return url
  }

  /// The canonical spelling as people write it: without the scheme's own port and without a path that is only `/`.
  var short: UpstreamURL {
    var url = canonical
    if isWeb, url.port == (secure ? 443 : 80) { url.port = nil }
    if url.path == "/", url.query == nil { url.path = "" }
    return url
  }

  /// Whether both mean the same upstream, namespace included: how a URL finds a configured upstream.
  func isSameUpstream(as other: UpstreamURL) -> Bool { canonical == other.canonical }

  /// The whole URL, secrets included: for the daemon's own files alone.
  var fullText: String {
    var text = scheme + "://"
    if let userInfo {
      // The first colon is the one between user and password.
      let parts = userInfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      text += parts.map { PercentEncoding.component(String($0)) }.joined(separator: ":") + "@"
    }
    text += bracketedHost
    if let port { text += ":\(port)" }
    text += path
    if let query { text += "?" + query }
    if let fragment { text += "#" + fragment }
    return text
  }
}
