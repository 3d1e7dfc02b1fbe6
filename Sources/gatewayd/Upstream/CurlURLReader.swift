import CCurlURL
import GatewayCore
import Glibc

/// Reads URLs with libcurl's parser: the same one that the connection is later made with, so that nothing can be
/// understood in two ways.
final class CurlURLReader: URLReader {
  /// Longest URL accepted, in bytes.
  static let lengthLimit = 8_000

  /// Any scheme is read; which ones can be served is the caller's question. Paths and queries stay as written.
  func read(_ text: String) throws(URLProblem) -> UpstreamURL {
    try Self.checkCharacters(text)
    let start = try Self.endOfScheme(text)
    guard let handle = curl_url() else { throw .ofReader(String(cString: gw_curl_problem())) }
    defer { curl_url_cleanup(handle) }
    let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS)
    let result = curl_url_set(handle, CURLUPART_URL, text, flags)
    guard result == CURLUE_OK else { throw Self.problem(result) }
    return try Parts(handle: handle, behindScheme: text[start...]).url()
  }

  private static func checkCharacters(_ text: String) throws(URLProblem) {
    guard !text.isEmpty else { throw URLProblem("the URL is empty; write for example https://example.org") }
    guard text.utf8.count <= lengthLimit else {
      throw URLProblem("the URL is longer than \(lengthLimit) bytes")
    }
    for byte in text.utf8 {
      if byte == 32 { throw space(in: text) }
      if byte < 32 || byte == 127 { throw URLProblem("the URL contains a control character; remove it") }
    }
  }

  /// What to write instead depends on what the part means in which the space stands: a namespace is taken as it is
  /// written, so that `%20` would be another one.
  private static func space(in text: String) -> URLProblem {
    let path = text.firstRange(ofText: "://").map { text[$0.upperBound...].drop { $0 != "/" } } ?? ""
    let scheme = text.prefix { $0 != ":" }.lowercased()
    guard UpstreamKinds.all.traits(of: scheme)?.path == .namespace,
      path.prefix(while: { $0 != "?" && $0 != "#" }).contains(" ")
    else { return URLProblem("the URL contains a space; write %20 instead") }
    return URLProblem(
      "the URL contains a space, and its path is the namespace; leave the path out, and name the namespace where it is used: by --namespace, or by the param `namespace`"
    )
  }

  /// Where the host part begins. libcurl is content with one slash or three, and guesses a scheme from the host's name.
  private static func endOfScheme(_ text: String) throws(URLProblem) -> String.Index {
    guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else {
      throw URLProblem("the URL has no scheme; write for example \(example(for: text))")
    }
    let start = text.index(colon, offsetBy: 3)
    guard !text[start...].hasPrefix("/") else { throw Parts.noHost }
    return start
  }

  /// What was probably meant by a URL without `://`: its host with its port, and its scheme if it begins with one.
  /// Nothing else of it is echoed.
  private static func example(for text: String) -> String {
    let scheme = text.prefix { $0.isHostCharacter }
    var rest = text[...]
    var shown = "https"
    let known = ["http", "https", "ws", "wss", "tcp", "tls"]
    if known.contains(scheme.lowercased()), text[scheme.endIndex...].hasPrefix(":") {
      shown = scheme.lowercased()
      rest = text[text.index(after: scheme.endIndex)...].drop { $0 == "/" }
    }
    // What stands before an @ is a user, or a secret.
    rest = rest.prefix { !"/?#".contains($0) }
    if let mark = rest.lastIndex(of: "@") { rest = rest[mark...].dropFirst() }
    let host = rest.prefix { $0.isHostCharacter }
    guard !host.isEmpty else { return "\(shown)://example.org" }
    let behind = rest[host.endIndex...]
    let port = behind.dropFirst().prefix { $0.isASCII && $0.isNumber }
    let isPort = behind.hasPrefix(":") && (1...5).contains(port.count) && port.endIndex == rest.endIndex
    return "\(shown)://\(host)" + (isPort ? ":\(port)" : "")
  }

  private static func problem(_ code: CURLUcode) -> URLProblem {
    switch code {
    case CURLUE_BAD_SCHEME, CURLUE_NO_SCHEME, CURLUE_UNSUPPORTED_SCHEME:
      URLProblem("the URL's scheme is malformed; write for example https://example.org")
    case CURLUE_BAD_PORT_NUMBER: Parts.badPort
    case CURLUE_NO_HOST: Parts.noHost
    case CURLUE_BAD_HOSTNAME: URLProblem("the URL's host name contains a character that host names cannot have")
    case CURLUE_BAD_IPV6:
      URLProblem("the URL's IPv6 address is malformed; write it in brackets, as in https://[::1]:8080")
    case CURLUE_BAD_LOGIN, CURLUE_BAD_USER, CURLUE_BAD_PASSWORD, CURLUE_URLDECODE:
      URLProblem("the URL's user or password is malformed; percent-encode its special characters")
    case CURLUE_LACKS_IDN: URLProblem("the URL's host name cannot be converted; write it in its ASCII (xn--) form")
    default: URLProblem("the URL is malformed: \(String(cString: curl_url_strerror(code)))")
    }
  }

  /// Fetches the parts of one parsed URL.
  private struct Parts {
    let handle: OpaquePointer
    /// The URL's text from its authority on.
    let behindScheme: Substring

    static let noHost = URLProblem("the URL names no host; write for example https://example.org")
    static let badPort = URLProblem("the URL's port is not a number from 1 to 65535")

    /// The URL in its parts, or what is wrong with it.
    func url() throws(URLProblem) -> UpstreamURL {
      guard let scheme = part(CURLUPART_SCHEME) else { throw CurlURLReader.problem(CURLUE_NO_SCHEME) }
      return UpstreamURL(
        scheme: scheme, userInfo: try userInfo(), host: try host(), port: try port(), path: path(),
        query: part(CURLUPART_QUERY), fragment: part(CURLUPART_FRAGMENT))
    }

    /// Lower case, in its ASCII form, without brackets; an address in its only form.
    private func host() throws(URLProblem) -> String {
      guard part(CURLUPART_ZONEID) == nil else {
        throw URLProblem("the URL's IPv6 address has a zone, which cannot be used here; write the address without %")
      }
      var pointer: UnsafeMutablePointer<CChar>?
      let result = Self.inUTF8 { curl_url_get(handle, CURLUPART_HOST, &pointer, UInt32(CURLU_PUNYCODE)) }
      guard result == CURLUE_OK || result == CURLUE_NO_HOST else { throw CurlURLReader.problem(result) }
      var host = take(pointer)?.lowercased() ?? ""
      if host.hasPrefix("["), host.hasSuffix("]") { host = Self.canonical(ipv6: String(host.dropFirst().dropLast())) }
      guard !host.isEmpty else { throw Self.noHost }
      return host
    }

    /// An IPv6 address has many spellings, and one that contains an IPv4 address (RFC 4291 section 2.5.5.2) is that one:
    /// rules about a server must not depend on the spelling.
    private static func canonical(ipv6 text: String) -> String {
      var address = in6_addr()
      guard inet_pton(AF_INET6, text, &address) == 1 else { return text }
      var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
      guard inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count)) != nil else { return text }
      let canonical = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      let mapped = "::ffff:"
      guard canonical.hasPrefix(mapped), canonical.contains(".") else { return canonical }
      return String(canonical.dropFirst(mapped.count))
    }

    /// libcurl takes host names as text of the thread's locale, which is ASCII in a daemon.
    private static func inUTF8(_ body: () -> CURLUcode) -> CURLUcode {
      guard let utf8 else { return body() }
      let before = uselocale(utf8)
      defer { uselocale(before) }
      let result = body()
      return result == CURLUE_OUT_OF_MEMORY ? CURLUE_LACKS_IDN : result
    }

    /// Read from its file once, and kept as long as the program runs; it is never changed.
    nonisolated(unsafe) private static let utf8 = newlocale(1 << LC_CTYPE, "C.UTF-8", nil)

    private func port() throws(URLProblem) -> UInt16? {
      guard let digits = part(CURLUPART_PORT) else { return nil }
      guard let port = UInt16(digits), port > 0 else { throw Self.badPort }
      return port
    }

    private func userInfo() throws(URLProblem) -> String? {
      let user = try decoded(CURLUPART_USER)
      let password = try decoded(CURLUPART_PASSWORD)
      guard user != nil || password != nil else { return nil }
      guard user?.contains(":") != true else { throw URLProblem("the URL's user name contains a colon") }
      return (user ?? "") + ":" + (password ?? "")
    }

    private func decoded(_ part: CURLUPart) throws(URLProblem) -> String? {
      var pointer: UnsafeMutablePointer<CChar>?
      let result = curl_url_get(handle, part, &pointer, UInt32(CURLU_URLDECODE))
      guard result != CURLUE_URLDECODE else { throw CurlURLReader.problem(result) }
      return take(pointer)
    }

    /// libcurl invents `/` for an empty path; whether one was written shows in the text itself.
    private func path() -> String {
      guard let path = part(CURLUPART_PATH) else { return "" }
      guard path == "/" else { return path }
      return behindScheme.prefix { $0 != "?" && $0 != "#" }.contains("/") ? path : ""
    }

    private func part(_ part: CURLUPart) -> String? {
      var pointer: UnsafeMutablePointer<CChar>?
      guard curl_url_get(handle, part, &pointer, 0) == CURLUE_OK else { return nil }
      return take(pointer)
    }

    private func take(_ pointer: UnsafeMutablePointer<CChar>?) -> String? {
      guard let pointer else { return nil }
      defer { curl_free(pointer) }
      return String(cString: pointer)
    }
  }
}

extension Character {
  /// Whether it may stand in a host name with a port: what is echoed in an example must not be a secret.
  fileprivate var isHostCharacter: Bool { isASCII && (isLetter || isNumber || self == "." || self == "-") }
}
