/// On whose account something waits or is counted: one user of the machine, or the configuration.
public enum Account: Hashable, Sendable {
  case user(UInt32)
  /// What the configuration asks for and all users share, such as a configured upstream with its own namespace.
  case configuration
}
