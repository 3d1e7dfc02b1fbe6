/// What the core asks about the machine's network, and what it is told. The daemon uses rtnetlink.
public protocol NetworkObserver: AnyObject {
  /// Told when links, addresses or routes have changed.
  var onChange: ((NetworkChange) -> Void)? { get set }
  /// How packets to a numeric address would leave the machine now; nil when there is no way.
  func path(to address: String) -> NetworkPath?
  /// The addresses of a host that are certain: a numeric one is its own, one that means the loopback
  /// (`UpstreamURL.isLoopbackName`) has its two. Empty for all others.
  func addresses(of host: String) -> [String]
  /// The addresses that a file of this machine gives to a name; asked only when there seems to be no way.
  func localAddresses(of name: String) -> [String]
  /// Whether any interface but the loopback is up and has an address.
  var hasUsableInterface: Bool { get }
}

/// How packets to an address leave the machine.
public enum NetworkPath: Equatable, Sendable {
  /// Not at all: the address is one of its own. Also where nothing can be known.
  case here
  /// By this interface with this source address, both as the kernel names them.
  case interface(Int32, source: [UInt8])
}

/// What changed.
public struct NetworkChange: Equatable, Sendable {
  /// Interfaces that lost an address, a route or their carrier, even if they have it back by now; nil: any may have.
  public var touched: Set<Int32>?

  public init(touched: Set<Int32>?) { self.touched = touched }
}

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

  /// Addresses that no machine has (RFC 5737, RFC 3849): a route to them is one to everywhere.
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
