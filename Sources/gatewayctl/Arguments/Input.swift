import GatewayCore
import Glibc

/// Reads whole files and standard input.
enum InputFile {
  /// More than any daemon takes in one message.
  static let sizeLimit = 64 << 20

  /// The bytes of a file; `-` is standard input.
  static func read(_ path: String) throws(Failure) -> [UInt8] {
    if path == "-" { return try read(STDIN_FILENO, named: "standard input") }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw Failure(.badInput, "the file '\(path)' cannot be read: \(SystemText.ofError(errno)); check the name")
    }
    defer { close(descriptor) }
    return try read(descriptor, named: path)
  }

  private static func read(_ descriptor: Int32, named name: String) throws(Failure) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        throw Failure(.badInput, "\(name) cannot be read: \(SystemText.ofError(errno)); check what it is")
      }
      guard count > 0 else { return bytes }
      bytes += chunk[..<count]
      guard bytes.count <= sizeLimit else {
        throw Failure(.badInput, "\(name) is larger than \(sizeLimit >> 20) MiB; send it in smaller parts")
      }
    }
  }
}

/// Standard input, line by line.
struct InputLines {
  private var buffer = LineBuffer(limit: InputFile.sizeLimit, keepsEmptyLines: true)
  private var lines: ArraySlice<[UInt8]> = []
  /// A line is too long: what stands behind it cannot be told apart.
  private var isBroken = false
  private var ended = false

  /// The next line without its end; nil when there is none.
  mutating func next() throws(Failure) -> [UInt8]? {
    while lines.isEmpty, !ended { try fill() }
    return lines.popFirst()
  }

  private mutating func fill() throws(Failure) {
    guard !isBroken else {
      throw Failure(.badInput, "a line on standard input is larger than \(InputFile.sizeLimit >> 20) MiB; send less")
    }
    var chunk = [UInt8](repeating: 0, count: 64 * 1024)
    let count = read(STDIN_FILENO, &chunk, chunk.count)
    if count < 0, errno == EINTR { return }
    guard count >= 0 else {
      throw Failure(.badInput, "standard input cannot be read: \(SystemText.ofError(errno)); check what it is")
    }
    ended = count == 0
    var found: [[UInt8]] = []
    let take = { (line: RawSpan) in found.append(line.withUnsafeBytes { [UInt8]($0) }) }
    do { try buffer.append(chunk.span.bytes.extracting(0..<count), take) } catch { isBroken = true }
    if ended, !buffer.isEmpty { buffer.withPending(take) }
    lines = found[...]
  }
}
