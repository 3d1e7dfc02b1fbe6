/// What a kind of upstream needs to go on with a server where it left off, over restarts of the daemon too. Secret:
/// whoever knows it receives what is meant for us.
public struct Resumption: Equatable, Sendable {
  /// What the server knows us by.
  public var session: String
  /// The last event that was received, as the server names it.
  public var offset: String

  init(session: String, offset: String) {
    self.session = session
    self.offset = offset
  }
}

extension Resumption: CustomStringConvertible, CustomReflectable {
  public var description: String { "resumption" }
  public var customMirror: Mirror { Mirror(reflecting: description) }
}
