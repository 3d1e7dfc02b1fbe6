import GatewayCore
import Glibc

/// Standard output, or a file beside it: data only, written in whole lines.
final class Output {
  private var pending: [UInt8] = []
  private let descriptor: Int32
  /// What it is called where it cannot be written.
  private let name: String
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

  /// Writes what was added. Throws `Failure.outputClosed` when the reader is gone.
  func flush() throws(Failure) {
    var written = 0
    while written < pending.count {
      let count = pending.withUnsafeBytes { write(descriptor, $0.baseAddress.map { $0 + written }, $0.count - written) }
      if count >= 0 {
        written += count
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN: waitUntilWritable()
      case EPIPE: throw .outputClosed
      default:
        let reason = SystemText.ofError(errno)
        let verb = descriptor == STDOUT_FILENO ? "printed" : "recorded"
        throw Failure(.dataLost, "\(name) cannot be written: \(reason); what was to be \(verb) is lost")
      }
    }
    pending.removeAll(keepingCapacity: true)
  }

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
