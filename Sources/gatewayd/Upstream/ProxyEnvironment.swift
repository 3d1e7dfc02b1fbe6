import GatewayCore

/// Finds the proxy for a server, in the configuration or in the daemon's environment, by the rules that libcurl and most
/// programs have in common. Decision 0013.
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
        return try ProxyServer(parsing: text.contains("://") ? text : "http://" + text)
      } catch {
        throw URLProblem("the environment's \(name) cannot be used: \(error.message)")
      }
    }
  }

  /// `HTTP_PROXY` is not looked at: in programs that web servers start, whoever sends a header `Proxy` sets it.
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
