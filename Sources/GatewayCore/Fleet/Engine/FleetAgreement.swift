/// The settings of an upstream that all hosts of a fleet must have alike, each as a digest of its value. Secrets are none of
/// them: of a URL only what is shown counts.
struct FleetAgreement: Equatable, Sendable {
  /// By the name of the setting behind `upstream.NAME.`.
  private(set) var digests: [String: String] = [:]

  /// Digits of SHA-1 that are kept: it is to find mistakes, not attacks.
  private static let length = 12

  init() {}

  init(_ specification: UpstreamSpecification, kind: String) {
    let urls = [specification.url] + specification.settings.alternatives
    note("url", urls.map(\.redacted).joined(separator: " "))
    note("kind", kind)
    note("parser", specification.settings.parser.rawValue)
    note("namespace", specification.shownNamespace)
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

  /// The settings that both name and have differently, in the order of their names.
  func differences(from other: FleetAgreement) -> [String] {
    digests.filter { other.digests[$0.key] ?? $0.value != $0.value }.keys.sorted()
  }
}
