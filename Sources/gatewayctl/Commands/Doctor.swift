import GatewayCore
import Glibc

/// `doctor`: prints the daemon's findings as they come, and ends with the exit code of the first failure.
struct DoctorCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .doctor, operands: "URL", operandCount: 1...1,
    summary: "find out why a server cannot be used",
    details: [
      "Walks through name, TCP, proxy, TLS, HTTP path, Engine.IO, WebSocket, sticky sessions, namespace, credentials and "
        + "round trip, and says at each step what was seen, what is wrong and what to do. The daemon does it, with its "
        + "view of the network and its secrets, on connections of its own. On a terminal readable lines; otherwise, or "
        + #"with --json, {"step":…,"verdict":…,"code":…,"seen":…,"advice":…,"took":…} for each step."#,
      "Of an upstream that hosts share it begins with the fleet: Redis, what this host may do there, and the other hosts.",
      "Exit 0 if it works, 73 if the server refuses, 76 if it speaks another protocol, 124 if something took too long, "
        + "otherwise 69.",
    ],
    options: OptionSpecification.ofLook,
    examples: [
      .init("Look", "gatewayctl doctor https://chat.example"),
      .init("Only what is wrong", "gatewayctl doctor --json chat | jq -r 'select(.verdict==\"failed\").advice'"),
    ],
    defaultTimeout: .seconds(30))

  private let context: Context
  private var view: DoctorView

  private init(_ context: Context) {
    self.context = context
    view = DoctorView(palette: context.settings.palette, width: context.settings.columns)
  }

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    var command = DoctorCommand(context)
    return try command.run()
  }

  private mutating func run() throws(Failure) -> ExitCode {
    let client = context.client
    let deadline = context.deadline
    try client.connect(until: deadline)
    let id = client.post(
      "doctor",
      Client.object { writer in
        context.target.write(into: &writer)
        guard let remaining = deadline.remaining else { return }
        writer.key("timeout")
        writer.integer(max(1, remaining.milliseconds))
      })
    let end = deadline.extended(by: Client.grace)
    var failed: RawJSONObject?
    while true {
      while let message = client.next() {
        switch message {
        case .notification("progress", let params):
          guard let finding = finding(params, of: id) else { continue }
          if failed == nil, finding.string("verdict") == "failed" { failed = finding }
          try show(finding)
        case .result(id: id, let result): return try conclude(result, failed)
        case .failure(id: id, let error), .failure(id: nil, let error): throw error.failure
        case .notification, .result, .failure: continue
        }
      }
      try context.output.flush()
      guard client.isOpen else {
        throw Failure(.unavailable, "the daemon closed the connection before it was done; try again")
      }
      guard !end.hasPassed else { throw client.unanswered("doctor") }
      var entry = pollfd(fd: client.descriptor, events: client.interest, revents: 0)
      _ = poll(&entry, 1, end.pollTimeout)
      try client.transfer()
    }
  }

  private func finding(_ params: [UInt8], of id: Int) -> RawJSONObject? {
    guard let members = RawJSONObject(params), members.integer("id") == "\(id)" else { return nil }
    return members.elements("args")?.first.flatMap { RawJSONObject($0) }
  }

  private mutating func show(_ finding: RawJSONObject) throws(Failure) {
    guard context.settings.isReadable else { return try context.printJSON(finding.text(without: "")) }
    context.output.text(view.lines(finding, advice: advice(finding)))
  }

  private func conclude(_ result: [UInt8], _ failed: RawJSONObject?) throws(Failure) -> ExitCode {
    let name = context.target.shown
    guard let failed else {
      if context.settings.isReadable, context.settings.verbosity != .quiet {
        let isPerfect = RawJSONObject(result)?.string("verdict") == "ok"
        context.output.text("\(TextWidth.escaped(name)) works\(isPerfect ? "" : ", with the warnings above").\n")
      }
      return .done
    }
    throw Failure(Self.exitCode(failed), "\(name) does not work: \(reason(failed))")
  }

  /// A person has just read the finding; a program that takes JSON gets its sentences once more, as any error.
  private func reason(_ failed: RawJSONObject) -> String {
    guard !context.settings.isReadable else { return "see the step '\(failed.string("step") ?? "?")' above" }
    return [failed.string("seen") ?? "?", advice(failed)].compactMap { $0 }.joined(separator: " ")
  }

  /// Of a server that was given by URL the settings are options of the command line.
  private func advice(_ finding: RawJSONObject) -> String? {
    finding.string("advice").map { context.target.isURL ? CommandLineTerms.ofAdvice($0) : $0 }
  }

  private static func exitCode(_ finding: RawJSONObject) -> ExitCode {
    let code = finding.string("code") ?? ""
    if code.hasSuffix(".time") || code.hasSuffix(".turn") || code.hasSuffix(".silent") || code.hasSuffix(".slow") {
      return .timedOut
    }
    switch finding.string("step") {
    case "engine": return .protocolMismatch
    case "handshake":
      let foreign = ["handshake.http", "handshake.incompatible"]
      return foreign.contains(code)
        ? .protocolMismatch : code == "handshake.forbidden" ? .upstreamRefused : .unavailable
    case "namespace", "auth":
      return ["auth.missing", "auth.unusable", "namespace.failed"].contains(code) ? .unavailable : .upstreamRefused
    default:
      let foreign = ["http.web_page", "http.unexpected", "http.foreign", "http.path"]
      return foreign.contains(code) ? .protocolMismatch : code == "http.forbidden" ? .upstreamRefused : .unavailable
    }
  }
}
