import GatewayCore
import Glibc

/// Reads a secret from a regular file at each connect, so that a renewed one is picked up. Never blocks on a pipe, and
/// what it says about a failure names the path but never the content.
final class FileCredentialReader: CredentialReader {
  /// Largest credential file, in bytes.
  static let sizeLimit = 64 << 10

  /// Calls back before it returns: the file is small and local.
  func read(file path: String, _ done: @escaping (Result<[UInt8], CredentialProblem>) -> Void) {
    done(Result { () throws(CredentialProblem) in try Self.contents(of: path) })
  }

  private static func contents(of path: String) throws(CredentialProblem) -> [UInt8] {
    // Without O_NONBLOCK, opening a FIFO would wait for its writer.
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw CredentialProblem(SystemError("read the credential file \(path)").description) }
    defer { close(descriptor) }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0 else {
      throw CredentialProblem(SystemError("read the credential file \(path)").description)
    }
    guard facts.st_mode & S_IFMT == S_IFREG else {
      throw CredentialProblem("the credential file \(path) is not a regular file")
    }
    let bytes = try bytes(of: descriptor, path)
    guard !bytes.isEmpty else { throw CredentialProblem("the credential file \(path) is empty") }
    return bytes
  }

  /// Reads to the end whatever `fstat` said: the file may be growing.
  private static func bytes(of descriptor: Int32, _ path: String) throws(CredentialProblem) -> [UInt8] {
    var failure: SystemError?
    let bytes = [UInt8](unsafeUninitializedCapacity: sizeLimit + 1) { buffer, count in
      while count < buffer.count {
        let got = Glibc.read(descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count)
        if got < 0, errno == EINTR { continue }
        if got < 0 { failure = SystemError("read the credential file \(path)") }
        guard got > 0 else { return }
        count += got
      }
    }
    if let failure { throw CredentialProblem(failure.description) }
    guard bytes.count <= sizeLimit else {
      throw CredentialProblem("the credential file \(path) is larger than \(sizeLimit / 1_024) KiB")
    }
    return bytes
  }
}
