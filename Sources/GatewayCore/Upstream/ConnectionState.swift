/// The five states of a connection. The raw values are part of the local protocol.
public enum ConnectionState: String, CaseIterable, Hashable, Sendable {
  /// Exists, its first attempt is not decided yet. May become `connected` or `disconnected`.
  case created
  /// The namespace is accepted and commands flow. May become `disconnected`.
  case connected
  /// No link, and nothing is being tried now. May become `reconnecting` or `released`.
  case disconnected
  /// An attempt is under way. May become `connected` or `disconnected`.
  case reconnecting
  /// Removed from the pool. Terminal.
  case released
}
