import GatewayCore
import Glibc

/// Finds the proxy for a server, in the configuration or in the daemon's environment, by the rules that libcurl and
/// most programs have in common. Decision 0013.
struct ProxyEnvironment {
  /// The value of a variable of the environment.
  let variable: (String) -> String?

  /// Nil: the server is reached directly. Throws when the environment names a proxy that cannot be used.
  func proxy(for request: DialRequest) throws(URLProblem) -> ProxyServer? {
    switch request.proxy.choice {
    case .none: return nil
    case .server(let server):
      return ProxyExceptions(request.proxy.exceptions ?? []).contain(request.host) ? nil : server
    case .environment:
      guard let (name, text) = named(for: request) else { return nil }
      let exceptions = request.proxy.exceptions ?? ProxyExceptions.split(first(of: ["no_proxy", "NO_PROXY"]) ?? "")
      guard !ProxyExceptions(exceptions).contain(request.host) else { return nil }
      do throws(URLProblem) {
        return try ProxyServer(parsing: text.contains(text: "://") ? text : "http://" + text)
      } catch {
        throw URLProblem("the environment's \(name) cannot be used: \(error.message)")
      }
    }
  }

  /// `HTTP_PROXY` is not looked at: in programs that web servers start, a client sets it by the header `Proxy`.
  private func named(for request: DialRequest) -> (name: String, text: String)? {
    let names = request.secure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
    for name in names + ["all_proxy", "ALL_PROXY"] {
      if let text = variable(name), !text.isEmpty { return (name, text) }
    }
    return nil
  }

  private func first(of names: [String]) -> String? {
    for name in names { if let text = variable(name), !text.isEmpty { return text } }
    return nil
  }
}

/// Hosts that are reached without a proxy.
struct ProxyExceptions {
  private let entries: [String]

  init(_ entries: [String]) { self.entries = entries }

  /// The entries of a variable `no_proxy`: separated by commas or spaces.
  static func split(_ text: String) -> [String] {
    text.split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
  }

  /// Whether one of them means this host: `*` all, a name itself and what is below it, an address itself, a network its
  /// addresses.
  func contain(_ host: String) -> Bool {
    let host = host.lowercased()
    return entries.contains { Self.matches($0.lowercased(), host) }
  }

  private static func matches(_ entry: String, _ host: String) -> Bool {
    if entry == "*" { return true }
    if let address = address(host) {
      let parts = entry.split(separator: "/", maxSplits: 1).map(String.init)
      guard let network = parts.first.flatMap({ Self.address($0) }), network.count == address.count else {
        return false
      }
      guard parts.count == 2 else { return network == address }
      guard let length = Int(parts[1]), (0...(address.count * 8)).contains(length) else { return false }
      return equal(network, address, bits: length)
    }
    let name = entry.hasPrefix("*.") ? entry.dropFirst(2) : entry.hasPrefix(".") ? entry.dropFirst() : entry[...]
    return !name.isEmpty && (host == name || host.hasSuffix("." + name))
  }

  private static func equal(_ a: [UInt8], _ b: [UInt8], bits: Int) -> Bool {
    let whole = bits / 8
    guard a.prefix(whole) == b.prefix(whole) else { return false }
    guard bits % 8 > 0, whole < a.count else { return true }
    return (a[whole] ^ b[whole]) >> UInt8(8 - bits % 8) == 0
  }

  /// The bytes of an address in its text form, in brackets or not; nil for a name.
  private static func address(_ text: String) -> [UInt8]? {
    let text = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
    for (family, length) in [(AF_INET, 4), (AF_INET6, 16)] {
      var bytes = [UInt8](repeating: 0, count: length)
      if inet_pton(family, text, &bytes) == 1 { return bytes }
    }
    return nil
  }
}
