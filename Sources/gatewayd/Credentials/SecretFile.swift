import GatewayCore
import Glibc

/// A secret in a regular file, read at each connect, so that a renewed one is picked up. Never blocks on a pipe, and
/// what it says about a failure names the file but never the content.
struct SecretFile: Equatable {
  /// As it stands in messages, such as `the credential file /etc/gatewayd/token`.
  let subject: String
  let path: String

  /// The content, and whether everybody on this machine could have read it too.
  struct Content: Equatable {
    var bytes: [UInt8]
    var isPublic: Bool
  }

  func read() throws(CredentialProblem) -> Content {
    // Without O_NONBLOCK, opening a FIFO would wait for its writer.
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw problem() }
    defer { close(descriptor) }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0 else { throw problem() }
    guard facts.st_mode & S_IFMT == S_IFREG else { throw CredentialProblem("\(subject) is not a regular file") }
    let bytes = try bytes(of: descriptor)
    guard !bytes.isEmpty else { throw CredentialProblem("\(subject) is empty") }
    return Content(bytes: bytes, isPublic: facts.st_mode & 0o004 != 0)
  }

  /// Another one for every other file of the name, and for every change of it; nil when there is none.
  var version: SecretVersion? {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return nil }
    return SecretVersion([
      Int64(truncatingIfNeeded: facts.st_dev), Int64(truncatingIfNeeded: facts.st_ino), Int64(facts.st_size),
      Int64(facts.st_mtim.tv_sec), Int64(facts.st_mtim.tv_nsec), Int64(facts.st_ctim.tv_sec),
      Int64(facts.st_ctim.tv_nsec),
    ])
  }

  /// Reads to the end whatever `fstat` said: the file may be growing.
  private func bytes(of descriptor: Int32) throws(CredentialProblem) -> [UInt8] {
    let limit = SecretSource.sizeLimit
    var failure: CredentialProblem?
    let bytes = [UInt8](unsafeUninitializedCapacity: limit + 1) { buffer, count in
      while count < buffer.count {
        let got = Glibc.read(descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count)
        if got < 0, errno == EINTR { continue }
        if got < 0 { failure = problem() }
        guard got > 0 else { return }
        count += got
      }
    }
    if let failure { throw failure }
    guard bytes.count <= limit else { throw CredentialProblem("\(subject) is larger than \(limit >> 10) KiB") }
    return bytes
  }

  private func problem() -> CredentialProblem { CredentialProblem(SystemError("read \(subject)").description) }
}
