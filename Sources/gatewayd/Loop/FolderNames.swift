import Glibc

/// What is in a folder.
enum FolderNames {
  /// The names of all entries, in no order, `.` and `..` among them. An error in the middle is one of the whole: what is
  /// not listed would otherwise be taken for absent.
  static func list(_ path: String) throws(SystemError) -> [String] {
    guard let stream = opendir(path) else { throw SystemError("open the folder \(path)") }
    defer { closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        guard errno == 0 else { throw SystemError("list the folder \(path)") }
        return names
      }
      names.append(
        withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
          String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        })
    }
  }
}
