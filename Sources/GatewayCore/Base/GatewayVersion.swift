/// Which release this is. Daemon and command line are released together.
public enum GatewayVersion {
  public static let current = "1.1.0"
}
