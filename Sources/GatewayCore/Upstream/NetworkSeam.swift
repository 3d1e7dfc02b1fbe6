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
