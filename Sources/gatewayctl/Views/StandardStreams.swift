import GatewayCore
import Glibc

/// Standard output, or a file beside it: data only, written in whole lines.
final class Output {
  private var pending: [UInt8] = []
  private let descriptor: Int32
  /// What it is called where it cannot be written.
  private let name: String
  /// The program that read it has gone: nothing is printed any more.
  private(set) var isUnread = false
  /// Text that is kept back at most before it is written.
  private static let flushLimit = 64 * 1024

  init(descriptor: Int32 = STDOUT_FILENO, named name: String = "standard output") {
    self.descriptor = descriptor
    self.name = name
  }

  /// Adds a line; the line feed is added here.
  func line(_ bytes: [UInt8]) throws(Failure) {
    pending += bytes
    pending.append(UInt8(ascii: "\n"))
    if pending.count >= Self.flushLimit { try flush() }
  }

  /// Adds text as it is.
  func text(_ text: String) { pending += text.utf8 }

  /// The same as `flush`, of a command that does nothing but print: throws `Failure.outputClosed` when the reader is gone.
  func flushOrEnd() throws(Failure) {
    try flush()
    if isUnread { throw .outputClosed }
  }

  /// Writes what was added. What nobody reads any more is dropped, so that the command does and finds what it would
  /// otherwise.
  func flush() throws(Failure) {
    var written = 0
    defer { pending.removeFirst(written) }
    while written < pending.count {
      let count = pending.withUnsafeBytes { write(descriptor, $0.baseAddress.map { $0 + written }, $0.count - written) }
      if count >= 0 {
        written += count
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN: waitUntilWritable()
      case EPIPE where descriptor == STDOUT_FILENO:
        isUnread = true
        written = pending.count
      case let code: throw lost(code)
      }
    }
  }

  /// What is said where it cannot be written.
  private func lost(_ code: Int32) -> Failure {
    let verb = descriptor == STDOUT_FILENO ? "printed" : "recorded"
    return Failure(
      .dataLost, "\(name) cannot be written: \(SystemText.ofError(code)); what was to be \(verb) is lost")
  }

  /// What is said where it has no reader any more, and that is a failure.
  var unread: Failure { lost(EPIPE) }

  private func waitUntilWritable() {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    _ = poll(&entry, 1, -1)
  }
}

/// Standard error: one line per fact, never data.
struct Diagnostics: Sendable {
  var verbosity: Verbosity = .normal

  /// How much is said besides errors.
  enum Verbosity: Equatable, Sendable {
    case quiet, normal, verbose
  }

  /// Why the program ends; a line of JSON for a program that asked for JSON.
  func failure(_ failure: Failure, asJSON: Bool) {
    guard let message = failure.message else { return }
    guard asJSON else { return Self.say(message) }
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("error")
    writer.beginObject()
    writer.key("exit")
    writer.integer(failure.code.rawValue)
    writer.key("message")
    writer.string(message)
    failure.applicationError?.write(into: &writer)
    writer.endObject()
    writer.endObject()
    // A JSON text stays one where it is made safe to show.
    Self.write(TextWidth.escaped(String(decoding: writer.bytes, as: UTF8.self)))
  }

  /// Always said.
  func error(_ text: String) { Self.say(text) }
  /// Said unless `--quiet`.
  func notice(_ text: String) { if verbosity != .quiet { Self.say(text) } }
  /// Said with `--verbose`.
  func detail(_ text: String) { if verbosity == .verbose { Self.say(text) } }

  /// One line; what could break it or steer a terminal is written out.
  private static func say(_ text: String) { write("gatewayctl: \(TextWidth.escaped(text))") }

  private static func write(_ text: String) {
    let line = Array((text + "\n").utf8)
    var written = 0
    while written < line.count {
      let count = line.withUnsafeBytes {
        Glibc.write(STDERR_FILENO, $0.baseAddress.map { $0 + written }, $0.count - written)
      }
      guard count > 0 || (count < 0 && errno == EINTR) else { return }
      written += max(0, count)
    }
  }
}

/// The three streams that every program expects to be open.
enum StandardStreams {
  /// Takes the places of those that the caller closed, so that no socket gets the number of one of them: what is meant
  /// for standard output would go to the daemon, as calls. Each is opened the wrong way round, so that using it fails
  /// as it does with a closed one, except standard error, whose words are lost. To be called first.
  static func hold() {
    for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY)]
    where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free number is this one.
      _ = open("/dev/null", mode)
    }
  }
}
