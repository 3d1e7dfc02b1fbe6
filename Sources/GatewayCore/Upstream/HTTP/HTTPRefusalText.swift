/// What to say about an HTTP answer that came instead of a WebSocket, or of a poll's. Statuses whose own words say enough stay as they are.
enum HTTPRefusalText {
  /// `name` is the status with the server's own words, such as `HTTP 404 Not Found`.
  static func sentence(_ head: HTTPResponseHead, name: String) -> String {
    switch head.status {
    case 200..<300 where isPage(head):
      "the server answered the WebSocket handshake with a web page (\(name)): this is no Socket.IO server, or a login "
        + "page or a captive portal stands before it"
    default: login(head.status, name: name) ?? "the server answered \(name) instead of opening a WebSocket"
    }
  }

  /// The sentence for a status by which something on the way asks for a login; nil for others.
  static func login(_ status: Int, name: String) -> String? {
    switch status {
    case 407: "a proxy on the way wants a user and a password (\(name))"
    case 511: "the network wants a login before it lets anything through (\(name)): a captive portal"
    default: nil
    }
  }

  private static func isPage(_ head: HTTPResponseHead) -> Bool {
    head.values("content-type").contains { $0.lowercased().hasPrefix("text/html") }
  }
}
