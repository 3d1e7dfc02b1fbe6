/// Whether there may be a way from this machine to the server of one connection, judged by its routes alone. A wrong
/// "maybe" costs an attempt that fails; a wrong "no" would keep a working connection down, so doubt counts as "maybe".
struct NetworkReach: Equatable, Sendable {
  enum Way: Equatable, Sendable {
    /// No route: an attempt would be futile.
    case none
    case path(NetworkPath)
    /// The address is not known, and some network is there.
    case unknown
  }

  private(set) var way = Way.unknown
  /// The address that the connection last had to do with, by its name's resolution.
  var lastAddress: String?

  var isUp: Bool { way != .none }

  /// Addresses that nobody has (RFC 5737, RFC 3849): who has a route to them has one to everywhere.
  static let anywhere = ["203.0.113.1", "2001:db8::1"]

  /// Looks again. `hosts` are those that are dialled: the server's, or its proxy's; one of them is enough.
  mutating func look(at network: (any NetworkObserver)?, hosts: [String]) {
    guard let network else { return }
    var found = Way.none
    for host in hosts where found == .none { found = way(to: host, network) }
    way = found
  }

  private func way(to host: String, _ network: any NetworkObserver) -> Way {
    let fixed = network.addresses(of: host)
    if !fixed.isEmpty { return path(to: fixed, network) ?? .none }
    if let lastAddress, let way = path(to: [lastAddress], network) { return way }
    // The name may have another address by now.
    if path(to: Self.anywhere, network) != nil { return .unknown }
    if lastAddress == nil, network.hasUsableInterface { return .unknown }
    return path(to: network.localAddresses(of: host), network) ?? .none
  }

  private func path(to addresses: [String], _ network: any NetworkObserver) -> Way? {
    for address in addresses {
      if let path = network.path(to: address) { return .path(path) }
    }
    return nil
  }

  /// Whether an open link that went this way may have been cut by a change.
  func isTouched(by change: NetworkChange) -> Bool {
    guard case .path(.interface(let interface, _)) = way else { return way == .unknown }
    return change.touched?.contains(interface) ?? true
  }
}
