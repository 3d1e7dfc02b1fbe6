import Glibc

/// What can be seen of a key's PEM file without opening the key.
enum KeyFile {
  /// Whether it says of itself that it needs a password: RFC 7468 section 11, or the older form by headers.
  static func isEncrypted(_ path: String) -> Bool {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    let bytes = [UInt8](unsafeUninitializedCapacity: 4_096) { buffer, count in
      count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
    }
    let text = String(decoding: bytes, as: UTF8.self)
    return text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") || text.contains("Proc-Type: 4,ENCRYPTED")
  }
}
