import GatewayCore

/// The upstream that a call is about.
struct Target: Equatable, Sendable {
  /// A URL, or the name of a configured upstream.
  var name: String
  var namespace: String?

  init(_ name: String, namespace: String? = nil) {
    self.name = name
    self.namespace = namespace
  }

  /// The members of `params`. Only a URL contains `://`.
  func write(into writer: inout JSONWriter) {
    writer.key(name.contains("://") ? "url" : "upstream")
    writer.string(name)
    guard let namespace else { return }
    writer.key("namespace")
    writer.string(namespace)
  }
}
