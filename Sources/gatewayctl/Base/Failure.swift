import GatewayCore
import Glibc

/// How `gatewayctl` ends: one number per cause, after `sysexits.h` and `timeout(1)`.
enum ExitCode: Int32, CaseIterable, Sendable {
  case done = 0
  /// The daemon answered with an error that has no number of its own.
  case refusedByDaemon = 1
  /// Of `status --check`, whose warnings end with 1.
  case checkCritical = 2
  case checkUnknown = 3
  case usage = 64
  /// Bad JSON, or otherwise unusable data, in what was to be sent.
  case badInput = 65
  /// The daemon cannot be reached, or the upstream is down when the call's time is over, or it is not known.
  case unavailable = 69
  case internalError = 70
  case upstreamRefused = 73
  case dataLost = 74
  /// The same may succeed later.
  case tryAgain = 75
  /// What answered does not speak this version of the local protocol.
  case protocolMismatch = 76
  case permissionDenied = 77
  case configurationInvalid = 78
  case timedOut = 124
  case interrupted = 130

  /// What the code means, for the help text.
  var meaning: String {
    switch self {
    case .done: "done"
    case .refusedByDaemon: "the daemon answered with another error; a warning of 'status --check'"
    case .checkCritical: "critical, of 'status --check'"
    case .checkUnknown: "unknown, of 'status --check'"
    case .usage: "usage"
    case .badInput: "bad JSON or file in the input, or something the daemon does not accept"
    case .unavailable: "daemon not reachable, or upstream down or unknown"
    case .internalError: "internal error"
    case .upstreamRefused: "upstream refused"
    case .dataLost: "data lost: a gap with --on-gap fail, an acknowledgement, or output"
    case .tryAgain: "try again: queue full, draining, quota"
    case .protocolMismatch: "protocol mismatch"
    case .permissionDenied: "permission denied"
    case .configurationInvalid: "configuration invalid"
    case .timedOut: "timed out"
    case .interrupted: "interrupted"
    }
  }
}

/// Why a command ends early: its exit code, and the line for stderr.
struct Failure: Error, Equatable, Sendable {
  var code: ExitCode
  /// What happened and what to do, in one line without a final full stop; nil ends quietly.
  var message: String?
  /// The error of the server's application that it is about; nil where it is about none.
  var applicationError: ApplicationError?

  init(_ code: ExitCode, _ message: String, _ applicationError: ApplicationError? = nil) {
    self.code = code
    self.message = message
    self.applicationError = applicationError
  }

  private init(quietly code: ExitCode) { self.code = code }

  /// The program that read our output has gone: of a command that only prints nothing is left to do, and nothing went
  /// wrong.
  static let outputClosed = Failure(quietly: .done)

  /// The same end of one of several lines, where others were sent before it. `isSent`: it was sent itself, and what
  /// failed came behind that.
  func ofLine(_ number: Int, sent: Int, isSent: Bool = false) -> Failure {
    var failure = self
    let place = "line \(number)\(isSent ? " was sent, and" : ":")"
    failure.message = message.map { "\(place) \($0) (\(sent) sent before it)" }
    return failure
  }
}

extension Failure {
  /// The same with every URL among the words of the command line as it is shown. One that stands in a wrong place is
  /// taken for a file, an option or a method, and sentences name those as they were typed.
  func hidingURLs(of words: [String]) -> Failure {
    guard var message else { return self }
    for word in words where word.contains(text: "://") {
      for part in Self.parts(of: word) where part.contains(text: "://") {
        message = message.replacing(part, by: ShownAddress.word(part))
      }
    }
    var hidden = self
    hidden.message = message
    return hidden
  }

  /// What of a word may be a URL: behind the mark of a file or of an option, and each side of an option's `=`.
  private static func parts(of word: String) -> [String] {
    let bare = String(word.drop { $0 == "@" || $0 == "-" })
    guard word.hasPrefix("-"), let equals = bare.firstIndex(of: "=") else { return [bare] }
    let value = bare[bare.index(after: equals)...]
    return [bare, String(bare[..<equals]), String(value.drop { $0 == "@" })]
  }
}

/// What a server's application answered in the place of an acknowledgement: JSON texts as they were received.
struct ApplicationError: Equatable, Sendable {
  /// Its name, a string.
  private let name: [UInt8]
  /// Nil: they do not fit into a line of the daemon.
  private let args: [UInt8]?
  /// Nil: there are none.
  private let kwargs: [UInt8]?
  /// Bytes that people are shown of its words; programs get all of them.
  static let shownLimit = 1024

  /// Nil: the `data` of the daemon's error has none.
  init?(_ data: RawJSONObject) {
    guard let name = data["error"] else { return nil }
    self.name = name
    args = data["args"]
    kwargs = data["kwargs"]
  }

  /// What it says behind its name, for people: its arguments, text as text, then the keyword arguments; nil where it
  /// says nothing.
  var words: String? {
    var words = (args.flatMap { RawJSONObject.elements(of: $0) } ?? []).map { element in
      element.first == UInt8(ascii: "\"")
        ? JSONScanner.decodeString(element.span.bytes, 0..<element.count) : String(decoding: element, as: UTF8.self)
    }
    if let kwargs, RawJSONObject(kwargs)?.isEmpty == false { words.append(String(decoding: kwargs, as: UTF8.self)) }
    let text = words.joined(separator: ", ")
    return text.isEmpty ? nil : text.shortened(to: Self.shownLimit)
  }

  /// Adds the members `error`, `args` and `kwargs`, those that it has.
  func write(into writer: inout JSONWriter) {
    for (key, text) in [("error", name), ("args", args), ("kwargs", kwargs)] {
      guard let text else { continue }
      writer.key(key)
      writer.raw(text)
    }
  }
}

/// What the system calls its errors.
enum SystemText {
  static func ofError(_ code: Int32) -> String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }
}
