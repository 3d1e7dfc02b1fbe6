/// `[fleet]`: hosts that share the links of some upstreams.
public struct FleetOptions: Equatable, Sendable {
  /// In the name of everything that the fleet keeps; nil: there is no fleet.
  var name: String?
  /// Its Redis servers; the one that says it is the master counts.
  var redis: [RedisAddress] = []
  /// Nil: the default user.
  var user: String?
  /// Read at each connect; nil says no login.
  var password: SecretSource?
  /// What the fleet calls this host; nil: the machine's name.
  var host: String?
  /// Whether this host may have the link.
  var hold = FleetHold.may
  /// How long a holder may write after the sending of its last confirmed beat.
  var lease: Duration = .seconds(3)
  /// How long a conversation outlives the loss of Redis.
  var grace: Duration = .seconds(10)
  /// How long a host is silent before it is taken for dead.
  var adopt: Duration = .seconds(30)
  /// How long a holder without a link to the server keeps the lease from others.
  var yield: Duration = .seconds(10)
  /// When a durable send is kept.
  var durable = FleetDurability.host
  /// Replicas that must confirm what has to last.
  var copies = 0
  /// Whom to trust at `rediss://`; nil: the system's.
  var authorities: CertificateAuthorities?
  init() {}

  /// Whether there is one.
  var isWanted: Bool { name != nil }

  /// Whether a fleet or a host may be called that.
  static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { $0.isASCIILetterOrDigit || "._-".utf8.contains($0) }
  }
}

/// `fleet.durable`.
enum FleetDurability: String, CaseIterable, Sendable {
  /// When the disk of its host has it.
  case host
  /// When Redis has it.
  case fleet
}

/// `fleet.hold`.
enum FleetHold: String, CaseIterable, Sendable {
  case may
  /// Before those that may.
  case prefer
  case never

  var mayHold: Bool { self != .never }
}

/// Where a Redis server is reached.
struct RedisAddress: Equatable, Sendable {
  /// With TLS.
  var secure: Bool
  /// An IPv6 address without its brackets.
  var host: String
  var port: UInt16

  private static let usualPort: UInt16 = 6_379

  /// `redis://HOST[:PORT]` or, with TLS, `rediss://HOST[:PORT]`; nil for anything else.
  init?(_ text: String) {
    let rest: Substring
    if text.hasPrefix("redis://") {
      (secure, rest) = (false, text.dropFirst(8))
    } else if text.hasPrefix("rediss://") {
      (secure, rest) = (true, text.dropFirst(9))
    } else {
      return nil
    }
    var host = rest
    var port: Substring?
    if rest.hasPrefix("["), let end = rest.firstIndex(of: "]") {
      host = rest[rest.index(after: rest.startIndex)..<end]
      let tail = rest[rest.index(after: end)...]
      guard tail.isEmpty || tail.hasPrefix(":") else { return nil }
      port = tail.isEmpty ? nil : tail.dropFirst()
      guard host.contains(":"), host.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else { return nil }
    } else {
      if let colon = rest.firstIndex(of: ":") { (host, port) = (rest[..<colon], rest[rest.index(after: colon)...]) }
      let isName = host.utf8.allSatisfy {
        $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
      }
      guard (1...253).contains(host.utf8.count), isName else { return nil }
    }
    self.host = String(host)
    guard let port else {
      self.port = Self.usualPort
      return
    }
    guard let number = UInt16(port), number > 0 else { return nil }
    self.port = number
  }

  /// As it is written.
  var text: String {
    "\(secure ? "rediss" : "redis")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
  }
}
