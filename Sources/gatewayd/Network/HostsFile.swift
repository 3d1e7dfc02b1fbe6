import Glibc

/// `/etc/hosts`, hosts(5): names that need no network. Read anew each time, because it is asked seldom and changes seldom.
enum HostsFile {
  /// More of the file is not read, in bytes: some use it as a block list.
  static let sizeLimit = 256 << 10

  /// The addresses of a name, in the order of the file.
  static func addresses(of name: String, path: String = "/etc/hosts") -> [String] {
    guard let text = contents(path) else { return [] }
    let name = name.lowercased()
    return text.split(separator: "\n").compactMap { line in
      let fields = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" || $0 == "\r" }
      guard let address = fields.first, fields.dropFirst().contains(where: { $0.lowercased() == name }) else {
        return nil
      }
      return String(address)
    }
  }

  private static func contents(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: sizeLimit)
    let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
    return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
  }
}
