import GatewayCore
import Glibc

/// Reads secrets from files, from the service manager's credentials and from commands.
final class SystemCredentialReader: CredentialReader {
  /// Told once of every file that everybody can read, and again after that had been mended.
  var onPublicFile: ((String) -> Void)?

  private let commands: CredentialCommands
  /// `$CREDENTIALS_DIRECTORY`, systemd.exec(5); nil outside of a service that has credentials.
  private let folder: String?
  private var publicFiles: Set<String> = []

  init(loop: EventLoop, environment: (String) -> String?) {
    folder = environment("CREDENTIALS_DIRECTORY").flatMap { $0.hasPrefix("/") ? $0 : nil }
    commands = CredentialCommands(loop: loop, environment: environment)
  }

  func read(
    _ request: SecretRequest, while isWanted: @escaping () -> Bool,
    _ done: @escaping (Result<[UInt8], CredentialProblem>) -> Void
  ) {
    if case .command(let words) = request.source { return commands.run(words, request, while: isWanted, done) }
    done(Result { () throws(CredentialProblem) in try content(of: request.source) })
  }

  func version(of source: SecretSource) -> SecretVersion? { (try? file(of: source))?.version }

  /// Ends every command that still runs.
  func stop() { commands.stop() }

  private func content(of source: SecretSource) throws(CredentialProblem) -> [UInt8] {
    let file = try file(of: source)
    let content = try file.read()
    if !content.isPublic {
      publicFiles.remove(file.path)
    } else if publicFiles.insert(file.path).inserted {
      onPublicFile?(file.path)
    }
    return content.bytes
  }

  private func file(of source: SecretSource) throws(CredentialProblem) -> SecretFile {
    switch source {
    case .file(let path): return SecretFile(subject: "the credential file \(path)", path: path)
    case .credential(let name):
      guard let folder else {
        throw CredentialProblem(
          "there is no credential \(name): the service manager passes none ($CREDENTIALS_DIRECTORY is not set)")
      }
      return SecretFile(subject: "the credential \(name)", path: "\(folder)/\(name)")
    case .command: throw CredentialProblem("a command is no file")
    }
  }
}
