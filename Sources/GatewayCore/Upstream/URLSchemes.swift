/// The schemes of URLs that lead to servers of one kind, in clear and with TLS: what a person may write in place of another.
public struct URLSchemes: Hashable, Sendable {
  /// Such as `ws:// or http://`.
  public let clear: String
  /// Such as `wss:// or https://`.
  let secure: String

  /// Those of HTTP and of WebSocket, which mean the same.
  static let web = URLSchemes(clear: "ws:// or http://", secure: "wss:// or https://")

  private init(clear: String, secure: String) { (self.clear, self.secure) = (clear, secure) }

  /// Those that differ from a URL's own by TLS alone.
  init(of url: UpstreamURL) {
    guard !url.isWeb else {
      self = .web
      return
    }
    let kind = url.scheme.dropLast(url.transportScheme.count)
    let isStream = ["tcp", "tls"].contains(url.transportScheme)
    self.init(clear: "\(kind)\(isStream ? "tcp" : "ws")://", secure: "\(kind)\(isStream ? "tls" : "wss")://")
  }
}
