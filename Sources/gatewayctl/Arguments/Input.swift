import GatewayCore
import Glibc

/// Reads whole files and standard input.
enum InputFile {
  /// More than any daemon takes in one message.
  static let sizeLimit = 64 << 20

  /// The bytes of a file; `-` is standard input.
  static func read(_ path: String) throws(Failure) -> [UInt8] {
    if path == "-" { return try read(try StandardInput.take(), named: "standard input") }
    let descriptor = try open(path)
    defer { close(descriptor) }
    return try read(descriptor, named: path)
  }

  /// A descriptor to read the file with.
  static func open(_ path: String) throws(Failure) -> Int32 {
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      let reason = SystemText.ofError(errno)
      throw Failure(.badInput, "the file '\(ShownAddress.word(path))' cannot be read: \(reason); check the name")
    }
    return descriptor
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

/// Standard input can be read once: whatever reads it next would find it empty, and leave out what is meant.
enum StandardInput {
  nonisolated(unsafe) private static var isTaken = false

  /// The descriptor, for what reads it to its end.
  static func take() throws(Failure) -> Int32 {
    guard !isTaken else {
      throw Failure(
        .usage, "standard input can be read only once; use @FILE or a file for what else is needed")
    }
    isTaken = true
    return STDIN_FILENO
  }
}

/// What one call is made of, read and remembered, so that what is too large for the call can be named.
final class InputFiles {
  /// The largest one.
  private(set) var largest: (name: String, size: Int)?

  /// The bytes of a file; `-` is standard input.
  func read(_ path: String) throws(Failure) -> [UInt8] {
    let bytes = try InputFile.read(path)
    if bytes.count > largest?.size ?? -1 {
      largest = (path == "-" ? "standard input" : "the file '\(path)'", bytes.count)
    }
    return bytes
  }
}

/// Standard input or a file, line by line.
struct InputLines {
  private let descriptor: Int32
  private let name: String
  private var buffer = LineBuffer(limit: InputFile.sizeLimit, keepsEmptyLines: true)
  private var lines: ArraySlice<[UInt8]> = []
  /// A line is too long: what stands behind it cannot be told apart.
  private var isBroken = false
  private var ended = false

  /// The lines of a file, which stays open until the program ends; `-` is standard input.
  init(_ path: String) throws(Failure) {
    let isInput = path == "-"
    descriptor = isInput ? try StandardInput.take() : try InputFile.open(path)
    name = isInput ? "standard input" : "the file '\(path)'"
  }

  /// The next line without its end; nil when there is none.
  mutating func next() throws(Failure) -> [UInt8]? {
    while lines.isEmpty, !ended { try fill() }
    return lines.popFirst()
  }

  private mutating func fill() throws(Failure) {
    guard !isBroken else {
      throw Failure(.badInput, "a line of \(name) is larger than \(InputFile.sizeLimit >> 20) MiB; send less")
    }
    var chunk = [UInt8](repeating: 0, count: 64 * 1024)
    let count = read(descriptor, &chunk, chunk.count)
    if count < 0, errno == EINTR { return }
    guard count >= 0 else {
      throw Failure(.badInput, "\(name) cannot be read: \(SystemText.ofError(errno)); check what it is")
    }
    ended = count == 0
    var found: [[UInt8]] = []
    let take = { (line: RawSpan) in found.append(line.withUnsafeBytes { [UInt8]($0) }) }
    do { try buffer.append(chunk.span.bytes.extracting(0..<count), take) } catch { isBroken = true }
    if ended, !buffer.isEmpty { buffer.withPending(take) }
    lines = found[...]
  }
}
