import Glibc

/// A directory of one test, removed with everything in it.
final class TemporaryDirectory: Sendable {
  let path: String

  init() {
    var template = Array("/tmp/gatewayctl-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { fatalError("no temporary directory can be made") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    for name in ["gatewayd.sock", "file", "other"] { unlink("\(path)/\(name)") }
    rmdir(path)
  }

  func file(_ name: String, _ bytes: [UInt8]) -> String {
    let file = "\(path)/\(name)"
    let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    _ = write(descriptor, bytes, bytes.count)
    close(descriptor)
    return file
  }
}
