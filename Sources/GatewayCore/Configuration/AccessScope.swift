/// Which rules say who may use an upstream.
enum AccessScope: Equatable {
  /// Those of the configured upstream of that name.
  case upstream(String)
  /// Those of upstreams that are used by URL.
  case adhoc
  /// None, because the configuration in force lets no program use it, whoever that is.
  case closed

  /// The name of a configured upstream.
  var name: String? {
    if case .upstream(let name) = self { name } else { nil }
  }
}
