import GatewayCore
import Glibc

/// An error that the daemon answered with.
struct DaemonError: Error, Equatable, Sendable {
  var message: String
  /// Nil: a type that this version does not know.
  var kind: LocalError.Kind?
  /// Whether the daemon says that trying again may help.
  var retry: Bool
  var data: JSONValue
  /// What the server's application said, of a `requestFailed`.
  var applicationError: ApplicationError?

  /// Nil: this is no error object.
  init?(_ text: [UInt8]) {
    guard let error = RawJSONObject(text), let message = error.string("message") else { return nil }
    self.message = message
    let facts = error["data"].flatMap { RawJSONObject($0) }
    data = facts?.shallow ?? .null
    let code = error.integer("code").flatMap { Int($0) }
    kind =
      data["type"]?.stringValue.flatMap(LocalError.Kind.init) ?? LocalError.Kind.allCases.first { $0.code == code }
    retry = data["retry"]?.boolValue ?? false
    if kind == .requestFailed { applicationError = facts.flatMap { ApplicationError($0) } }
  }
}

extension DaemonError {
  /// How the command ends because of it.
  var failure: Failure {
    let words = CommandLineTerms.of(message)
    return failure(in: words, advice: advice(for: words, geteuid() == 0))
  }

  /// The same for `call`, where the user writes the params of a method and wants to read of them.
  func failure(ofCall method: String) -> Failure {
    let words = CommandLineTerms.ofCall(message)
    guard kind == .invalidParams else { return failure(in: words, advice: advice(for: words, geteuid() == 0)) }
    return failure(in: words, advice: "'gatewayctl introspect \(method)' explains its params")
  }

  /// The same for a user who may read the daemon's log, or may not.
  func failure(readsJournal: Bool) -> Failure { failure(in: message, advice: advice(for: message, readsJournal)) }

  /// With the sentence in those words. Where the daemon has said what to do, nothing is added.
  private func failure(in words: String, advice: String?) -> Failure {
    let code = kind?.end.code ?? .refusedByDaemon
    let open = words.hasSuffix(".") ? String(words.dropLast()) : words
    if let said = applicationError?.words { return Failure(code, "\(open): \(said)", applicationError) }
    guard !ownWords.contains(";"), let advice else { return Failure(code, words, applicationError) }
    return Failure(code, "\(open); \(advice)", applicationError)
  }

  /// The daemon's part of its sentence, in which a semicolon is followed by what to do. What it repeats of a server, a
  /// name or a URL stands in `data` as well, and may hold semicolons of its own.
  private var ownWords: String {
    // The longest first: a shorter one may stand in it.
    let repeated = (data.members ?? []).compactMap(\.value.stringValue).filter { !$0.isEmpty }
    return repeated.sorted { $0.utf8.count > $1.utf8.count }.reduce(message) { $0.replacing($1, by: "") }
  }

  /// What to do where the server refuses us; there are namespaces where the daemon names the one that was meant.
  private var adviceForRefusal: String {
    let doctor = "'gatewayctl doctor' finds out more"
    guard let namespace = data["namespace"]?.stringValue else { return "check the credentials; \(doctor)" }
    if ["/socket.io", "/socket.io/"].contains(namespace) {
      return "leave \(namespace) out of the URL, whose path is the namespace; \(doctor)"
    }
    return "check the credentials, and the URL, whose path is the namespace; \(doctor)"
  }

  /// What to do where the upstream is down; `otherwise` is what helps with any reason.
  private func advice(forOutage otherwise: String) -> String {
    let advice = OutageAdvice.of(
      data["reason"]?.stringValue, data["detail"]?.stringValue, isURL: data["upstream"]?.stringValue == nil)
    return switch advice {
    case .certificate: OutageAdvice.certificate.rawValue
    case .plainWebSocket: "\(OutageAdvice.plainWebSocket.rawValue); \(otherwise)"
    case nil: otherwise
    }
  }

  /// What to do, for errors whose message, in those words, only says what happened.
  private func advice(for words: String, _ readsJournal: Bool) -> String? {
    switch kind?.end.advice {
    case .outage(let otherwise): advice(forOutage: otherwise)
    case .text(let text): text
    case .credentials: adviceForRefusal
    case .log:
      readsJournal
        ? "the daemon's log tells more: journalctl -u gatewayd"
        : "'gatewayctl status' shows what the daemon cannot do; an administrator finds more in its log"
    // What the daemon does not accept it says itself; the help knows the options alone.
    case .options: words.contains(text: "--") ? "'gatewayctl help COMMAND' explains the options" : nil
    case .nothing, nil: nil
    }
  }
}

/// What to do about an error whose message only says what happened.
private enum Advice {
  case nothing
  case text(String)
  /// What the outage's own reason says; the text where that says nothing, or too little.
  case outage(otherwise: String)
  /// Look at what the server was given.
  case credentials
  /// Look into the daemon's log.
  case log
  /// Look up the options, where it is about some.
  case options
}

extension LocalError.Kind {
  /// The one table of how the program ends because of an error of the daemon, and what it advises.
  fileprivate var end: (code: ExitCode, advice: Advice) {
    switch self {
    case .ackTimeout: (.timedOut, .text("give it more time with --timeout, or ask the server what it has done"))
    case .expired: (.timedOut, .text("give it more time, or see 'gatewayctl status'"))
    case .upstreamDown:
      (
        .unavailable,
        .outage(
          otherwise: "'gatewayctl doctor' finds out why, 'gatewayctl status' tells more, 'gatewayctl wait' waits for it"
        )
      )
    case .upstreamUnknown:
      (.unavailable, .text("write a URL with ://, or the name of an upstream in the daemon's configuration"))
    case .upstreamRefused: (.upstreamRefused, .credentials)
    case .ackLost: (.dataLost, .text("ask the server what it has done before sending again"))
    case .unrecoverable: (.dataLost, .text("subscribe without --since"))
    case .queueFull, .quotaExceeded, .draining: (.tryAgain, .text("try again later"))
    case .permissionDenied: (.permissionDenied, .text("ask the administrator, or run it as root"))
    case .parseError, .invalidParams: (.badInput, .options)
    case .payloadTooLarge: (.badInput, .text("send it in smaller parts"))
    case .internalError: (.internalError, .log)
    case .invalidRequest: (.refusedByDaemon, .options)
    case .methodNotFound: (.refusedByDaemon, .text("'gatewayctl introspect' lists the methods"))
    case .illegalState: (.refusedByDaemon, .text("'gatewayctl status' shows the state"))
    case .cancelled, .conflict, .ackGone, .requestFailed: (.refusedByDaemon, .nothing)
    }
  }
}

extension ExitCode {
  /// The exit code for an error that the daemon answered with, by its `data.type`.
  init(_ kind: LocalError.Kind) { self = kind.end.code }
}
