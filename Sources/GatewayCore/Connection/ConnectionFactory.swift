/// Makes what a connection needs to speak to its server; the URL's scheme chooses the kind.
final class ConnectionFactory {
  private var kinds: [String: any UpstreamKind] = [:]
  /// What a connection speaks to instead of a kind's own connector, where that is another one.
  var adapt: (UpstreamSpecification, any UpstreamConnector) -> any UpstreamConnector = { $1 }

  /// A scheme that two kinds claim belongs to the later one.
  init(kinds: [any UpstreamKind]) {
    for kind in kinds {
      for scheme in kind.traits.schemes { self.kinds[scheme] = kind }
    }
  }

  /// Every scheme that can be used, sorted.
  var schemes: [String] { kinds.keys.sorted() }

  /// Why an upstream cannot be used, as a sentence; nil if it can.
  func problem(with specification: UpstreamSpecification) -> String? {
    guard let kind = kinds[specification.url.scheme] else {
      return "the scheme '\(specification.url.scheme)' is unknown; use one of \(schemes.joined(separator: ", "))"
    }
    return kind.traits.problem(specification)?.clause
  }

  /// What is known of the kind of a URL; nil for a scheme that no kind claims.
  func traits(of url: UpstreamURL) -> UpstreamTraits? { kind(of: url)?.traits }

  func kind(of url: UpstreamURL) -> (any UpstreamKind)? { kinds[url.scheme] }

  /// Nil for a scheme that no kind claims; `problem(with:)` says so beforehand.
  func connector(for specification: UpstreamSpecification) -> (any UpstreamConnector)? {
    kinds[specification.url.scheme].map { adapt(specification, $0.connector(for: specification)) }
  }
}
