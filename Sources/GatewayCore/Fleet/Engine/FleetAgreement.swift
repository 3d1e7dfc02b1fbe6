/// The settings that all hosts of a fleet must have alike for an upstream, each as a digest of its value. Secrets are none of
/// them: of a URL only what is shown counts.
struct FleetAgreement: Equatable, Sendable {
  /// By the name of the setting: behind `upstream.NAME.`, or with its section where that is another.
  private(set) var digests: [String: String] = [:]

  /// Digits of SHA-1 that are kept: it is to find mistakes, not attacks.
  private static let length = 12

  init() {}

  /// - Parameters:
  ///   - lease: a host with a shorter one would take the link from one that may write yet.
  ///   - adopt: one with a shorter one would take those for dead that say more seldom that they live.
  init(_ specification: UpstreamSpecification, kind: String, lease: Duration, adopt: Duration) {
    let urls = [specification.url] + specification.settings.alternatives
    note("url", urls.map(\.redacted).joined(separator: " "))
    note("kind", kind)
    note("parser", specification.settings.parser.rawValue)
    note("namespace", specification.shownNamespace)
    note("fleet.lease", String(lease.milliseconds))
    note("fleet.adopt", String(adopt.milliseconds))
  }

  private mutating func note(_ name: String, _ value: String) {
    digests[name] = String(SHA1.hexadecimal(of: Array(value.utf8)).prefix(Self.length))
  }

  /// As it travels: `kind=… url=…`, in the order of the names.
  var text: String { digests.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ") }

  init(_ text: String) {
    for part in text.split(separator: " ") {
      guard let sign = part.firstIndex(of: "=") else { continue }
      digests[String(part[..<sign])] = String(part[part.index(after: sign)...])
    }
  }

  /// A setting by its whole name.
  static func setting(_ name: String, of upstream: String) -> String {
    name.contains(".") ? name : "upstream.\(upstream).\(name)"
  }

  /// The settings that both name and have differently, in the order of their names.
  func differences(from other: FleetAgreement) -> [String] {
    digests.filter { other.digests[$0.key] ?? $0.value != $0.value }.keys.sorted()
  }
}
