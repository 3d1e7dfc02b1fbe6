@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

@Suite struct SystemCredentialReaderTests {
  /// A directory that goes with this object.
  private final class Directory {
    let path: String

    init() throws {
      var name = Array("/tmp/gatewayd-credentials-XXXXXX".utf8CString)
      guard mkdtemp(&name) != nil else { throw SystemError("make a directory") }
      path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { system("rm -rf \(path)") }

    func file(_ bytes: [UInt8]) throws -> String {
      let name = path + "/secret"
      let descriptor = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw SystemError("write a file") }
      defer { close(descriptor) }
      guard write(descriptor, bytes, bytes.count) == bytes.count else { throw SystemError("write a file") }
      return name
    }
  }

  private func read(_ path: String) -> Result<[UInt8], CredentialProblem> {
    let file = SecretFile(subject: "the credential file \(path)", path: path)
    return Result { () throws(CredentialProblem) in try file.read().bytes }
  }

  @Test func contentIsReadAsItIs() throws {
    let directory = try Directory()
    let secret = Array("tok\0en\n".utf8)
    #expect(read(try directory.file(secret)) == .success(secret))
  }

  @Test func sixtyFourKibibytesAreTheMost() throws {
    let directory = try Directory()
    let largest = [UInt8](repeating: 65, count: 64 << 10)
    #expect(read(try directory.file(largest)) == .success(largest))
    let path = try directory.file(largest + [65])
    #expect(read(path) == .failure(CredentialProblem("the credential file \(path) is larger than 64 KiB")))
  }

  @Test func missingFileIsNamed() {
    let sentence = "cannot read the credential file /nonexistent/secret: No such file or directory"
    #expect(read("/nonexistent/secret") == .failure(CredentialProblem(sentence)))
  }

  @Test func emptyFileIsRefused() throws {
    let path = try Directory().file([])
    #expect(read(path) != .success([]))
  }

  @Test func directoriesPipesAndDevicesAreRefusedWithoutWaiting() throws {
    let directory = try Directory()
    let pipe = directory.path + "/pipe"
    #expect(mkfifo(pipe, 0o600) == 0)
    for path in [directory.path, pipe, "/dev/zero"] {
      #expect(read(path) == .failure(CredentialProblem("the credential file \(path) is not a regular file")))
    }
  }
}
