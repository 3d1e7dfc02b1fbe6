/// The whole configuration as one immutable value. Made only by `ConfigurationBuilder`, which refuses half-made ones;
/// `Configuration()` is the documented defaults.
public struct Configuration: Equatable, Sendable {
  public var socket = SocketSettings()
  public var log = LogSettings()
  public var limits = Limits()
  public var state = StateSettings()
  public var outbox = OutboxSettings()
  /// May upstreams that are not configured be used by URL? `defaults.adhoc`.
  var adhoc = true
  /// Settings of an upstream used by URL, and what configured ones start from: `[defaults]`.
  public var defaults = UpstreamSettings()
  /// By name.
  public var upstreams: [String: ConfiguredUpstream] = [:]
  public var access: [AccessRule] = []

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

/// `[upstream.NAME]`.
public struct ConfiguredUpstream: Equatable, Sendable {
  public var url: UpstreamURL
  public var settings: UpstreamSettings
  init(url: UpstreamURL, settings: UpstreamSettings) {
    self.url = url
    self.settings = settings
  }

  /// All of its URLs, the preferred one first.
  public var urls: [UpstreamURL] {
    [url] + settings.alternatives
  }

  /// What its kind is told of it, with the namespace that its URL names.
  func specification(_ name: String, _ kinds: UpstreamKinds) -> UpstreamSpecification {
    let namespace = try? kinds.traits(of: url.scheme)?.namespace(of: url, asked: nil)
    return UpstreamSpecification(name: name, url: url, namespace: namespace ?? "/", settings: settings, owner: nil)
  }
}
