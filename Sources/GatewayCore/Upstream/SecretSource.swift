/// Where a secret is read from, at each connect. Two upstreams with the same source have the same credentials, whatever
/// is read; so this, and not what is read, is a part of a link's identity. Decision 0019.
public enum SecretSource: Hashable, Sendable {
  /// An absolute path.
  case file(String)
  /// The name of a file in the folder of credentials that the service manager passes.
  case credential(String)
  /// A program and its arguments; its output is the secret. The arguments may be secrets too and are never shown.
  case command([String])

  /// Longest content, in bytes.
  public static let sizeLimit = 64 << 10

  /// The subject of a sentence about what was read.
  var subject: String {
    switch self {
    case .file(let path): "the credential file \(path)"
    case .credential(let name): "the credential \(name)"
    case .command(let words): "what the command \(words.first ?? "") prints"
    }
  }

  /// Each run may bring something new, and nothing but a run tells.
  var isCommand: Bool {
    switch self {
    case .command: true
    case .file, .credential: false
    }
  }
}

/// A header or query parameter whose value is read from elsewhere at each connect.
struct SecretMember: Hashable, Sendable {
  var name: String
  /// Stands before what is read, such as `Bearer `.
  var prefix: String
  var source: SecretSource

  init(name: String, prefix: String = "", source: SecretSource) {
    self.name = name
    self.prefix = prefix
    self.source = source
  }
}

/// One reading of a secret, and for whom.
public struct SecretRequest: Hashable, Sendable {
  public var source: SecretSource
  /// The configured name of the upstream; nil for an ad-hoc one, which has no such secrets today.
  public var upstream: String?
  /// Its URL without secrets.
  public var url: String
  /// How long a command may run.
  public var timeLimit: Duration
  /// In whose line a command waits for its turn.
  public var account: Account

  init(
    source: SecretSource, upstream: String?, url: String, timeLimit: Duration, account: Account = .configuration
  ) {
    self.source = source
    self.account = account
    self.upstream = upstream
    self.url = url
    self.timeLimit = timeLimit
  }
}

/// What distinguishes the present content of a file from an earlier one without reading it. Opaque.
public struct SecretVersion: Hashable, Sendable {
  private let marks: [Int64]
  public init(_ marks: [Int64]) { self.marks = marks }
}

/// Reads secrets that live outside the configuration: files and the output of commands, at each connect.
public protocol CredentialReader: AnyObject {
  /// Calls back exactly once, possibly before returning, with at most `SecretSource.sizeLimit` bytes or with a sentence
  /// that says what is wrong and never contains the secret. A command that has to wait for its turn, and is not wanted
  /// any more when that comes, is not run.
  func read(
    _ request: SecretRequest, while isWanted: @escaping () -> Bool,
    _ done: @escaping (Result<[UInt8], CredentialProblem>) -> Void)
  /// Changes when the content of a file may have changed; nil for a file that is not there, and for a command. Cheap.
  func version(of source: SecretSource) -> SecretVersion?
}

/// Credentials that could not be obtained, and why, in one sentence for a person.
public struct CredentialProblem: Error, Equatable, Sendable {
  public var message: String
  public init(_ message: String) { self.message = message }
}
