/// The kinds of upstream that a configuration may name, as far as each is known beforehand.
public struct UpstreamKinds: Sendable {
  public let traits: [UpstreamTraits]

  init(_ traits: [UpstreamTraits]) { self.traits = traits }

  /// The kind of a scheme; nil for one that no kind claims.
  public func traits(of scheme: String) -> UpstreamTraits? {
    traits.first { $0.schemes.contains(scheme) }
  }

  /// Why an upstream is impossible whatever its server says, judged before anything exists; nil if it is not.
  public func problem(with specification: UpstreamSpecification) -> MessageProblem? {
    traits(of: specification.url.scheme)?.problem(specification)
  }
}
