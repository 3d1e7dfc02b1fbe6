extension UpstreamFailure {
  /// The same, and what the end came before, where the server ended the link: a close in the middle of a handshake means
  /// something else than one of a link that was in use. Other reasons tell their stage themselves.
  public func closing(before stage: String) -> UpstreamFailure {
    guard reason == .closed else { return self }
    var failure = self
    failure.detail += ", before \(stage)"
    return failure
  }
}
