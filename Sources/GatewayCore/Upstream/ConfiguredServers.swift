/// Where a server is: URLs that differ in anything else lead to the same one. All names and addresses of the loopback
/// are one host; that another name leads to the same machine is not known without asking a name server.
struct ServerAddress: Hashable {
  let host: String
  let port: UInt16

  init(_ url: UpstreamURL) { self.init(host: url.host, port: url.effectivePort) }

  init(host: String, port: UInt16) {
    var host = host.lowercased()
    while host.hasSuffix(".") { host.removeLast() }
    self.host = UpstreamURL.isThisMachine(host) ? "localhost" : host
    self.port = port
  }
}

/// The servers of all upstreams of the configuration in force: a redirect of another server leads to none of them,
/// because no check of the program's rights precedes a redirect.
public final class ConfiguredServers {
  private var addresses: Set<ServerAddress> = []
  private let urls: (any URLReader)?

  /// Without any. `urls` reads hosts as it reads those of the configuration; without it they are taken as they stand.
  public init(urls: (any URLReader)? = nil) { self.urls = urls }

  /// Another configuration has upstreams with these URLs.
  func adopt(_ urls: some Sequence<UpstreamURL>) { addresses = Set(urls.map(ServerAddress.init)) }

  /// A host that another server wrote, in the form in which those of the configuration are compared: an address has many
  /// spellings. Nil where that is none.
  func host(_ written: String) -> String? {
    guard let urls else { return written }
    return try? urls.read("http://" + UpstreamURL.bracketed(written)).host
  }

  func contains(_ address: ServerAddress) -> Bool { addresses.contains(address) }
}
