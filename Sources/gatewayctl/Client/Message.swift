import GatewayCore
import Glibc

/// One line from the daemon, taken apart. Byte arrays hold raw JSON text, exactly as the daemon wrote it.
enum Message: Equatable, Sendable {
  /// The answer to the call with this id; nil where the daemon could not tell which call was meant.
  case result(id: Int?, [UInt8])
  case failure(id: Int?, DaemonError)
  /// The raw `params` object.
  case notification(method: String, [UInt8])

  /// Nil: this is no line of the local protocol.
  static func parse(_ line: [UInt8]) -> Message? {
    guard let members = RawJSONObject(line) else { return nil }
    if let method = members.string("method") {
      return .notification(method: method, members["params"] ?? Array("{}".utf8))
    }
    let id = members.integer("id").flatMap { Int($0) }
    if let result = members["result"] { return .result(id: id, result) }
    guard let error = members["error"], let failure = DaemonError(error) else { return nil }
    return .failure(id: id, failure)
  }
}

/// An error that the daemon answered with.
struct DaemonError: Error, Equatable, Sendable {
  var message: String
  /// Nil: a type that this version does not know.
  var kind: LocalError.Kind?
  /// Whether the daemon says that trying again may help.
  var retry: Bool
  var data: JSONValue

  /// Nil: this is no error object.
  init?(_ text: [UInt8]) {
    guard let value = try? JSONValue.parse(text.span.bytes, limit: .max), let message = value["message"]?.stringValue
    else {
      return nil
    }
    self.message = message
    data = value["data"] ?? .null
    kind =
      data["type"]?.stringValue.flatMap(LocalError.Kind.init)
      ?? LocalError.Kind.allCases.first { $0.code == value["code"]?.integerValue }
    retry = data["retry"]?.boolValue ?? false
  }
}

extension DaemonError {
  /// How the command ends because of it.
  var failure: Failure {
    var error = self
    error.message = CommandLineTerms.of(message)
    return error.failure(readsJournal: geteuid() == 0)
  }

  /// The same for `call`, where somebody writes the params of a method and wants to read of them.
  func failure(ofCall method: String) -> Failure {
    var error = self
    error.message = CommandLineTerms.ofCall(message)
    guard kind == .invalidParams else { return error.failure(readsJournal: geteuid() == 0) }
    return error.failure(advice: "'gatewayctl introspect \(method)' explains its params")
  }

  /// The same for a user who may read the daemon's log, or may not.
  func failure(readsJournal: Bool) -> Failure { failure(advice: advice(readsJournal)) }

  /// Where the daemon has said what to do, nothing is added.
  private func failure(advice: String?) -> Failure {
    let code = kind.map { ExitCode($0) } ?? .refusedByDaemon
    guard !ownWords.contains(";"), let advice else { return Failure(code, message) }
    return Failure(code, "\(message.hasSuffix(".") ? String(message.dropLast()) : message); \(advice)")
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

  /// What to do, for errors whose message only says what happened.
  private func advice(_ readsJournal: Bool) -> String? {
    switch kind {
    case .upstreamDown:
      "'gatewayctl doctor' finds out why, 'gatewayctl status' tells more, 'gatewayctl wait' waits for it"
    case .upstreamUnknown: "write a URL with ://, or the name of an upstream in the daemon's configuration"
    case .upstreamRefused: adviceForRefusal
    case .queueFull, .quotaExceeded, .draining: "try again later"
    case .ackTimeout: "give it more time with --timeout, or ask the server what it has done"
    case .ackLost: "ask the server what it has done before sending again"
    case .expired: "give it more time, or see 'gatewayctl status'"
    case .permissionDenied: "ask the administrator, or run it as root"
    case .payloadTooLarge: "send it in smaller parts"
    case .methodNotFound: "'gatewayctl introspect' lists the methods"
    case .internalError:
      readsJournal
        ? "the daemon's log tells more: journalctl -u gatewayd"
        : "'gatewayctl status' shows what the daemon cannot do; an administrator finds more in its log"
    // What the daemon does not accept it says itself; the help knows the options alone.
    case .parseError, .invalidParams, .invalidRequest:
      message.contains("--") ? "'gatewayctl help COMMAND' explains the options" : nil
    case .illegalState: "'gatewayctl status' shows the state"
    case .unrecoverable: "subscribe without --since"
    case .conflict, .cancelled, .ackGone, .requestFailed, nil: nil
    }
  }
}
