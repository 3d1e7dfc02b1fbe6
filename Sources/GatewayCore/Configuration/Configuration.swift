/// The whole configuration as one immutable value. Made only by `ConfigurationBuilder`, which refuses half-made ones;
/// `Configuration()` is the documented defaults.
public struct Configuration: Equatable, Sendable {
  public var socket = SocketSettings()
  public var log = LogSettings()
  public var limits = Limits()
  public var state = StateSettings()
  var outbox = OutboxSettings()
  public var metrics = MetricsSettings()
  var fleet = FleetOptions()
  /// May upstreams that are not configured be used by URL? `defaults.adhoc`.
  var adhoc = true
  /// Settings of an upstream used by URL, and what configured ones start from: `[defaults]`.
  var defaults = UpstreamSettings()
  /// By name.
  public var upstreams: [String: ConfiguredUpstream] = [:]
  public var access: [AccessRule] = []
  var quotas = Quotas()

  init() {}

  /// What an upstream used by URL gets of `[defaults]`: everything but what is meant for known servers only. Whoever
  /// may use a URL chooses the server, and must not be able to collect headers, query values or a client certificate;
  /// pins are of known servers' keys.
  var adhocSettings: UpstreamSettings {
    var settings = defaults
    settings.headers = []
    settings.query = []
    settings.headerSources = []
    settings.querySources = []
    settings.tls.certificate = nil
    settings.tls.key = nil
    settings.tls.keyPassword = nil
    settings.tls.keyPasswordFile = nil
    settings.tls.pins = []
    return settings
  }
}

/// `[socket]`.
public struct SocketSettings: Equatable, Sendable {
  /// Nil: the built-in default of the way the daemon was started.
  public var path: String?
  /// Permission bits of the socket file.
  public var mode: UInt32 = 0o660
  /// Group of the socket file, by name or number; nil leaves the daemon's own.
  public var group: String?
  init() {}
}

/// `[log]`.
public struct LogSettings: Equatable, Sendable {
  public var level: LogLevel = .info
  init() {}
}

/// From the most severe to the chattiest.
public enum LogLevel: String, CaseIterable, Comparable, Sendable {
  case error, warning, notice, info, debug
  private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  public static func < (a: Self, b: Self) -> Bool { a.rank < b.rank }
}

/// `[state]`.
public struct StateSettings: Equatable, Sendable {
  /// Folder of what has to survive a restart, used when the service manager names none; nil leaves the built-in
  /// default.
  public var path: String?
  init() {}
}

/// `[metrics]`.
public struct MetricsSettings: Equatable, Sendable {
  /// Where metrics are read over HTTP; nil: nowhere.
  public var listen: ListenAddress?
  init() {}
}

/// Where a server of the daemon listens.
public enum ListenAddress: Equatable, Sendable {
  /// A Unix socket.
  case path(String)
  /// A numeric address of the machine, IPv6 without its brackets.
  case tcp(host: String, port: UInt16)

  /// Longest path of a Unix socket, in bytes, unix(7).
  private static let pathLimit = 107

  /// `127.0.0.1:9817`, `[::1]:9817` or an absolute path; nil for anything else.
  init?(_ text: String) {
    if text.hasPrefix("/") {
      guard text.utf8.count <= Self.pathLimit, text.isPrintable else { return nil }
      self = .path(text)
      return
    }
    guard let colon = text.lastIndex(of: ":"), let port = Self.number(text[text.index(after: colon)...], UInt16.self),
      port > 0
    else { return nil }
    let host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]"), host.contains(":") {
      let inner = host.dropFirst().dropLast()
      guard inner.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else { return nil }
      self = .tcp(host: String(inner), port: port)
    } else {
      let parts = host.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 4, parts.allSatisfy({ Self.number($0, UInt8.self) != nil }) else { return nil }
      self = .tcp(host: String(host), port: port)
    }
  }

  /// A decimal number as it is usually written: without a sign and without zeros in front.
  private static func number<Number: FixedWidthInteger>(_ text: Substring, _: Number.Type) -> Number? {
    Number(text).flatMap { String($0) == text ? $0 : nil }
  }

  /// As it is written.
  public var text: String {
    switch self {
    case .path(let path): path
    case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
  }
}

/// `[upstream.NAME]`.
public struct ConfiguredUpstream: Equatable, Sendable {
  var url: UpstreamURL
  var settings: UpstreamSettings
  init(url: UpstreamURL, settings: UpstreamSettings) {
    self.url = url
    self.settings = settings
  }

  /// All of its URLs, the preferred one first.
  var urls: [UpstreamURL] {
    [url] + settings.alternatives
  }

  /// What its kind is told of it, with the namespace that its URL names.
  func specification(_ name: String, _ kinds: UpstreamKinds) -> UpstreamSpecification {
    let namespace = try? kinds.traits(of: url.scheme)?.namespace(of: url, asked: nil)
    return UpstreamSpecification(name: name, url: url, namespace: namespace ?? "/", settings: settings, owner: nil)
  }
}
