import Glibc

/// A directory of its own for one test, removed with everything in it when the object goes.
final class TemporaryDirectory {
  let path: String

  init(in parent: String = "/tmp") throws {
    var template = Array("\(parent)/gatewayd-test.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TemporaryDirectoryError() }
    path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress.unsafelyUnwrapped) }
  }

  deinit {
    for name in names { unlink(self / name) }
    rmdir(path)
  }

  /// The path of a file in the directory.
  static func / (directory: TemporaryDirectory, name: String) -> String { directory.path + "/" + name }

  /// What is in the directory, sorted.
  var names: [String] {
    guard let stream = opendir(path) else { return [] }
    defer { closedir(stream) }
    var found: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { found.append(name) }
    }
    return found.sorted()
  }

  struct TemporaryDirectoryError: Error {}
}
