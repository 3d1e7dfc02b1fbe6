/// Reads secrets that live outside the configuration: files and the output of commands, at each connect.
public protocol CredentialReader: AnyObject {
  /// Calls back exactly once, possibly before returning, with at most `SecretSource.sizeLimit` bytes or with a sentence
  /// that says what is wrong and never contains the secret.
  func read(_ request: SecretRequest, _ done: @escaping (Result<[UInt8], CredentialProblem>) -> Void)
  /// Changes when the content of a file may have changed; nil for a file that is not there, and for a command. Cheap.
  func version(of source: SecretSource) -> SecretVersion?
}

/// Credentials that could not be obtained, and why, in one sentence for a person.
public struct CredentialProblem: Error, Equatable, Sendable {
  public var message: String
  public init(_ message: String) { self.message = message }
}
