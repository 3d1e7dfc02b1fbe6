/// Reads the `Location` of a redirect: RFC 9110 section 10.2.2, with the resolution of RFC 3986 section 5.2 as far as
/// servers use it. The query and the user info of the target are dropped: the ones of the configuration count.
enum RedirectTarget {
  /// Longest text that is looked at, in bytes.
  static let textLimit = 2_000

  /// The host is as written. Nil when the text names no place that could be dialled.
  static func endpoint(_ location: String, from base: DialTarget.Endpoint) -> DialTarget.Endpoint? {
    guard !location.isEmpty, location.utf8.count <= textLimit, location.utf8.allSatisfy({ (33..<127).contains($0) })
    else { return nil }
    let text = location.prefix { $0 != "?" && $0 != "#" }
    if text.hasPrefix("//") { return absolute(text.dropFirst(2), secure: base.secure) }
    if let mark = text.firstRange(ofText: "://") {
      switch text[..<mark.lowerBound].lowercased() {
      case "http", "ws": return absolute(text[mark.upperBound...], secure: false)
      case "https", "wss": return absolute(text[mark.upperBound...], secure: true)
      default: return nil
      }
    }
    // A colon in the first segment would be another scheme.
    guard !text.prefix(while: { $0 != "/" }).contains(":") else { return nil }
    var target = base
    if text.hasPrefix("/") {
      target.path = String(text)
    } else if !text.isEmpty {
      target.path = String(base.path[...(base.path.lastIndex(of: "/") ?? base.path.startIndex)]) + text
    }
    return target
  }

  private static func absolute(_ text: Substring, secure: Bool) -> DialTarget.Endpoint? {
    let authority = text.prefix { $0 != "/" }
    let path = text[authority.endIndex...]
    var host = authority[(authority.lastIndex(of: "@").map { authority.index(after: $0) } ?? authority.startIndex)...]
    var port = Substring()
    if host.hasPrefix("[") {
      guard let end = host.firstIndex(of: "]") else { return nil }
      port = host[host.index(after: end)...]
      host = host[host.index(after: host.startIndex)..<end]
    } else if let colon = host.firstIndex(of: ":") {
      port = host[colon...]
      host = host[..<colon]
    }
    let isHost: (UInt8) -> Bool = { $0.isASCIILetterOrDigit || "-._:".utf8.contains($0) }
    guard !host.isEmpty, host.utf8.count <= 253, host.utf8.allSatisfy(isHost) else { return nil }
    guard let number = port.count < 2 ? (secure ? 443 : 80) : UInt16(port.dropFirst()),
      port.isEmpty || port.first == ":",
      number > 0
    else { return nil }
    return DialTarget.Endpoint(
      secure: secure, host: host.lowercased(), port: number, path: path.isEmpty ? "/" : String(path))
  }
}
