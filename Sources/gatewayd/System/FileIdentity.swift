import Glibc

/// Tells whether a file is still the same one.
struct FileIdentity: Equatable {
  let device: dev_t
  let inode: ino_t

  init(of path: String) throws(SystemError) {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw SystemError("look at \(path)") }
    device = status.st_dev
    inode = status.st_ino
  }

  init(of descriptor: Int32) throws(SystemError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw SystemError("look at a descriptor") }
    device = status.st_dev
    inode = status.st_ino
  }
}
