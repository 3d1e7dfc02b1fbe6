@testable import GatewayCore

/// A network that the test arranges. By default everything is reachable by interface 2.
final class FakeNetwork: NetworkObserver {
  var onChange: ((NetworkChange) -> Void)?
  /// By numeric address; `*` stands for all others.
  var paths: [String: NetworkPath] = ["127.0.0.1": .here, "*": .interface(2, source: [10, 0, 0, 1])]
  /// By name.
  var hostsFile: [String: [String]] = [:]
  var hasUsableInterface = true
  private(set) var questions = 0

  func path(to address: String) -> NetworkPath? {
    questions += 1
    return paths[address] ?? paths["*"]
  }

  func addresses(of host: String) -> [String] {
    if host == "localhost" { return ["127.0.0.1"] }
    return host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ? [host] : []
  }

  func localAddresses(of name: String) -> [String] { hostsFile[name] ?? [] }

  /// The last route goes; what is on this machine stays.
  func goDown() {
    paths = ["127.0.0.1": .here]
    hasUsableInterface = false
    tell(touching: [2])
  }

  func comeUp(by interface: Int32 = 2, source: [UInt8] = [10, 0, 0, 1]) {
    paths["*"] = .interface(interface, source: source)
    hasUsableInterface = true
    tell(touching: [])
  }

  func tell(touching interfaces: Set<Int32>?) { onChange?(NetworkChange(touched: interfaces)) }
}
