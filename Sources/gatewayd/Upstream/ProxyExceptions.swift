import Glibc

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
