@testable import GatewayCore
import Glibc

@testable import gatewayd

/// Entries and files for the tests of the outbox on disk.
enum OutboxSamples {
  /// An entry with every member set.
  static func full(_ number: UInt64) -> OutboxEntry {
    var entry = OutboxEntry(
      number: number, id: "id-\(number)", owner: 4_294_967_295,
      target: OutboxTarget(name: .url("https://u:p@h/n?q=1"), namespace: "/n"),
      message: PreparedMessage(event: "é\u{0}v", body: Array(#"["x",1.0]"#.utf8), attachments: [[], [0, 255], [7]]),
      delivery: .sent, fingerprint: .max, created: 1_795_000_000_000, expires: 1_795_000_000_001)
    entry.groups = [4_294_967_295, 0, 100]
    entry.retries = 3
    entry.ackTimeout = 3_000
    entry.coalesce = "c"
    entry.key = "k"
    entry.message.compress = false
    entry.attempts = 2
    entry.reason = "unreachable"
    return entry
  }

  /// A plain entry.
  static func plain(_ number: UInt64, bytes: Int = 200) -> OutboxEntry {
    OutboxEntry(
      number: number, id: "id-\(number)", owner: 1_000,
      target: OutboxTarget(name: .upstream("chat"), namespace: "/"),
      message: PreparedMessage(event: "e", body: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bytes)),
      delivery: .accepted, fingerprint: number, created: 1, expires: nil)
  }

  static func copy(_ file: String, to other: String, first count: Int? = nil) {
    let bytes = read(file)
    write(Array(bytes.prefix(count ?? bytes.count)), to: other)
  }

  static func read(_ file: String) -> [UInt8] {
    let descriptor = open(file, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var facts = stat()
    fstat(descriptor, &facts)
    return [UInt8](unsafeUninitializedCapacity: Int(facts.st_size)) { buffer, count in
      count = max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count))
    }
  }

  static func write(_ bytes: [UInt8], to file: String) {
    let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    defer { close(descriptor) }
    _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
  }
}

extension OutboxChange {
  static func adding(_ entry: OutboxEntry) -> Self { .add(Snapshot(entry)) }
  static func updating(_ entry: OutboxEntry) -> Self { .update(Snapshot(entry)) }
}
