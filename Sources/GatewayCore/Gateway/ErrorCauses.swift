/// The local error for each cause inside the gateway: the one place that decides which cause is which error.
extension LocalError {
  static var draining: LocalError {
    LocalError(.draining, "The gateway is draining and takes nothing new until it is restarted.")
  }

  /// An order that the state of the connection does not allow, or its use.
  init(_ transition: IllegalTransition) {
    self.init(
      .illegalState, Self.sentence(transition),
      [.init("state", .string(transition.state.rawValue)), .init("asked", .string(transition.asked.rawValue))])
  }

  private static func sentence(_ transition: IllegalTransition) -> String {
    switch (transition.asked, transition.state) {
    case (.connect, .released), (.disconnect, .released), (.release, .released):
      "Nobody uses that upstream: there is no connection."
    case (.connect, .connected): "The connection is connected already."
    case (.connect, .reconnecting): "An attempt to connect is under way already."
    case (.connect, .created), (.disconnect, .created), (.release, .created):
      "The first attempt to connect is not decided yet; try again when it is."
    case (.release, .connected), (.release, .reconnecting):
      "Only a disconnected connection can be released, and this one is \(transition.state.rawValue); 'disconnect' it first."
    case (.release, .disconnected): sentence(transition.use)
    case (.connect, .disconnected), (.disconnect, _), (.opened, _), (.lost, _):
      "The connection does not allow that now: \(transition)."
    }
  }

  /// Why a connection that is down is not released.
  private static func sentence(_ use: IllegalTransition.Use?) -> String {
    switch use {
    case .commands(1):
      "A send still waits for the connection; 'reconnect' lets it leave, and 'outbox.cancel' takes it back if it is durable."
    case .commands(let count):
      "\(count) sends still wait for the connection; 'reconnect' lets them leave, and 'outbox.cancel' takes back the durable ones."
    case .configuration:
      "The configuration keeps the connection; set `keep` of its upstream to \"on-demand\" first, and reload."
    case .endings: "What waited for the connection is being told that it has ended; try again in a moment."
    case .fleet: "This host has the link for its fleet; 'fleet.move' gives that to another one."
    case .leases, nil: "Programs use the connection; they have to leave it first."
    }
  }

  /// - Parameter known: names that the caller may be told.
  static func unknownUpstream(_ name: String, among known: [String] = []) -> LocalError {
    let advice =
      if let nearest = NearestName.of(name, among: known) {
        "did you mean '\(nearest)'?"
      } else if name == "localhost" || name.utf8.contains(where: { addressMarks.contains($0) }) {
        "give a configured name, or a URL with its scheme, as in http://localhost:3000."
      } else {
        "give a configured name, or a URL."
      }
    return LocalError(
      .upstreamUnknown, "No upstream is called '\(name)'; \(advice)", [.init("upstream", .string(name))])
  }

  /// What stands in a host, its port or a path rather than in a name.
  private static let addressMarks = Set(":/.[".utf8)

  /// The end of a line cannot be waited for.
  static func noReceiveMemory(_ overrun: SharedBounds.Overrun, of bounds: SharedBounds) -> LocalError {
    LocalError(
      .quotaExceeded,
      "There is no memory for the rest of this line beside \(overrun.words("bytes")) in lines and messages that have not ended (`limits.receive_bytes` is \(bounds.total), of which one user may have \(bounds.share)); none of it was done, and the connection is closed.",
      [.init("quota", .string("receive_bytes"))] + overrun.facts(of: bounds))
  }

  /// What was asked for is done, but the answer does not fit into a line.
  static func answerTooLong(_ size: Int, limit: Int) -> LocalError {
    LocalError(
      .payloadTooLarge,
      "The answer has \(size) bytes, and a line may have \(limit); ask for less, or raise `limits.line`.",
      [.init("limit", .integer(limit)), .init("size", .integer(size))])
  }

  static func noSubscription(_ id: String) -> LocalError {
    LocalError(.invalidParams, "This client has no subscription called '\(id)'.")
  }

  /// `strict` asks for events that are not kept.
  static func unrecoverable(_ stream: EventStream) -> LocalError {
    let oldest = stream.history.count > 0 ? Fact.Value.integer(Int(clamping: stream.history.oldest)) : .null
    return LocalError(
      .unrecoverable, "Not all of these events are kept, and `strict` asks for all of them.",
      [.init("oldest", oldest), .init("epoch", .string(stream.epoch))])
  }

  /// The server's acknowledgement does not fit into a line of the local protocol, here or on the host of the fleet that has the
  /// link.
  static func tooLong(_ size: Int, limit: Int) -> LocalError {
    guard size > limit else {
      return LocalError(
        .payloadTooLarge,
        "The server acknowledged with \(size) bytes, which is more than the fleet carries, or than `limits.line` of the host that has the link; have it answer with less, or raise that.",
        [.init("size", .integer(size))])
    }
    return LocalError(
      .payloadTooLarge, "The server acknowledged with more than fits into a line; raise `limits.line`.",
      [.init("limit", .integer(limit)), .init("size", .integer(size))])
  }

  init(_ problem: MessageProblem) {
    switch problem {
    case .invalid, .outdated: self.init(.invalidParams, problem.clause)
    case .tooLarge(let limit, let size), .tooLargeForFleet(let limit, let size):
      self.init(
        .payloadTooLarge, "The message is too large: \(problem.clause).",
        [.init("limit", .integer(limit)), .init("size", .integer(size))])
    }
  }

  /// - Parameter nextAttempt: milliseconds until the connection is tried again; nil where that is not known.
  init(_ problem: SubmissionProblem, nextAttempt: Int64? = nil) {
    switch problem {
    case .queueFull(let overrun, let unit):
      self.init(queueFull: overrun, unit, retryAfter: nextAttempt.map { Int($0) + 100 } ?? 1_000)
    case .linkFull(let overrun): self.init(queueFull: overrun, "bytes", retryAfter: 100)
    case .outboxFull(let overrun, let unit):
      self.init(
        full: overrun, unit, retryAfter: 1_000,
        "The outbox is full (\(overrun.words(unit))); wait, take some back with `outbox.cancel`, or raise its limit.")
    case .neverFits(let size, let limit, let setting):
      self.init(
        .payloadTooLarge,
        "The message is too large: it counts as \(size) bytes, and one user may have \(limit) (`\(setting)`); make it smaller, or raise that setting.",
        [.init("limit", .integer(limit)), .init("size", .integer(size))])
    case .notStored(let problem): self.init(outbox: problem)
    case .down(let failure): self.init(down: failure)
    case .impossible(let problem): self.init(problem)
    case .released:
      self.init(
        .illegalState, "The connection has just been released; try again.",
        [.init("state", .string(ConnectionState.released.rawValue)), .init("asked", .string("send"))])
    }
  }

  private init(queueFull overrun: SharedBounds.Overrun, _ unit: String, retryAfter: Int) {
    self.init(
      full: overrun, unit, retryAfter: retryAfter,
      "The queue of sends is full (\(overrun.words(unit))); wait until the upstream takes some, or raise the limit.")
  }

  private init(full overrun: SharedBounds.Overrun, _ unit: String, retryAfter: Int, _ sentence: String) {
    self.init(
      .queueFull, sentence,
      overrun.facts + [.init("unit", .string(unit)), .init("retry_after", .integer(retryAfter))])
  }

  /// Nothing can be kept on disk.
  init(outbox problem: StorageProblem) {
    self.init(
      .internalError, "The send was not taken, because the outbox cannot keep it: \(problem.message).",
      [.init("reason", .string(problem.kind.rawValue))])
  }

  /// So many of the sends that were to be taken again could not be kept; `count` says how many were.
  init(outbox problem: StorageProblem, refused: Int, of all: Int) {
    self.init(
      .internalError,
      "\(refused) of \(all) sends were not taken, because the outbox cannot keep them: \(problem.message).",
      [.init("reason", .string(problem.kind.rawValue)), .init("count", .integer(all - refused))])
  }

  init(down failure: UpstreamFailure) {
    self.init(
      .upstreamDown, "The upstream is not connected, and nothing was sent: \(failure.detail).", Self.facts(failure))
  }

  private static func facts(_ failure: UpstreamFailure) -> [Fact] {
    var facts: [Fact] = [.init("reason", .string(failure.reason.rawValue)), .init("detail", .string(failure.detail))]
    if let status = failure.status { facts.append(.init("status", .integer(status))) }
    return facts
  }

  /// The fleet cannot be told what its hosts are to do.
  private init(ofFleet failure: UpstreamFailure, _ upstream: String) {
    self.init(
      .upstreamDown,
      "The fleet's Redis cannot be used, and nothing was changed: \(failure.detail); 'gatewayctl doctor \(upstream)' says what to do.",
      Self.facts(failure))
  }

  /// The server has done what it was asked for, and said so with what has no form in JSON.
  static let unreadableAnswer = LocalError(
    .requestFailed,
    "The server has acknowledged, but its answer cannot be shown, because it is nested too deeply or malformed: what it did is done.",
    [.init("error", .string("undecodable")), .init("args", .raw(Array("[]".utf8)))])

  /// The application at the other end declined. `limit` is the longest line, in bytes: what is longer was not kept.
  init(_ error: RemoteError, limit: Int) {
    var facts: [Fact] = [.init("error", .string(error.name))]
    if error.answer.isOmitted {
      facts += [.init("limit", .integer(limit)), .init("size", .integer(error.answer.byteCount))]
    } else {
      facts.append(.init("args", .raw([UInt8(ascii: "[")] + error.answer.args + [UInt8(ascii: "]")])))
      if let kwargs = error.answer.kwargs { facts.append(.init("kwargs", .raw(kwargs))) }
    }
    self.init(.requestFailed, "The server answered with the error \(error.name).", facts)
  }

  /// - Parameter subject: what the server refuses.
  init(refused failure: UpstreamFailure, by specification: UpstreamSpecification, _ subject: String = "connection") {
    let message = failure.serverMessage ?? failure.detail
    var facts: [Fact] = [
      .init("message", .string(message)), .init("data", failure.serverData.map { .raw($0) } ?? .null),
    ]
    // Where there are namespaces one of them was refused, and may be the wrong one.
    if UpstreamKinds.all.traits(of: specification.url.scheme)?.path == .namespace {
      facts.append(.init("namespace", .string(specification.shownNamespace)))
    }
    self.init(.upstreamRefused, "The server refuses the \(subject): \(message)", facts)
  }

  /// Why the link of an upstream does not go to another host.
  /// - Parameter host: which was named.
  init(_ problem: FleetOrderProblem, of upstream: String, to host: String?) {
    let name = host ?? ""
    switch problem {
    case .notReached(let failure): self.init(ofFleet: failure, upstream)
    case .refused(let refusal):
      self.init(ofFleet: UpstreamFailure(.fleet, refusal.sentence(of: "the fleet's Redis")), upstream)
    case .mayNotMove(let words):
      self.init(
        .permissionDenied,
        "This host's Redis user may not move the link of '\(upstream)' (\(words)); say it at a host that may hold, or give the user the rights of one."
      )
    case .neverHeld:
      self.init(
        .conflict, "No host has ever had the link of '\(upstream)'; see what 'gatewayctl fleet' says of each host.")
    case .unknownHost(let known):
      let nearest = NearestName.of(name, among: known).map { "did you mean '\($0)'?" }
      self = .invalid(
        "host",
        "The fleet has no host called '\(name.shortened(to: 64))'; \(nearest ?? "'gatewayctl fleet' shows those that there are.")"
      )
    case .mayNotHold:
      self = .invalid(
        "host",
        "\(name) may not hold: it has `hold = \"never\"`, has left ('fleet.leave'), or its Redis user may not take the link ('gatewayctl doctor' there says so); mend that and reload it, or name another."
      )
    case .isStopped: self = .invalid("host", "\(name) was stopped; start it, or name another.")
    case .differs(let names):
      let settings = names.map { FleetAgreement.setting($0, of: upstream) }.joined(separator: ", ")
      self = .invalid(
        "host",
        "\(name) has \(settings) otherwise than the fleet, and does not take the link as long as it does; make it the same there and reload it, or name another."
      )
    case .isSilent:
      self = .invalid(
        "host", "Nothing was heard of \(name) for so long that it counts as dead; start it, or name another.")
    case .isToGo(let next):
      self.init(
        .conflict,
        "\(name) has the link of '\(upstream)' and is giving it to \(next == "*" ? "another host" : next), as was ordered before; order it again when that has it."
      )
    case .nobodyElse:
      self.init(
        .conflict,
        "No other host may have the link of '\(upstream)'; start one whose `hold` is \"may\" and whose settings are those of the fleet, or wait for it."
      )
    case .noAnswer:
      let (who, remedy) =
        host.map { ("\($0) did not answer", "start it, or name another") }
        ?? ("no other host that may have it answered", "start one")
      self.init(
        .conflict,
        "The link of '\(upstream)' stays where it is: \(who) when it was asked whether it lives, as one that was killed or does not reach Redis; \(remedy)."
      )
    case .cameBack(let holder):
      self.init(
        .conflict,
        "\(host.map { "\($0) has not" } ?? "No other host has") taken the link of '\(upstream)' in time, and \(holder) has it again; see what 'gatewayctl fleet' and the logs of the others say before you order it once more."
      )
    case .tookOther(let other):
      self.init(
        .conflict, "\(other) has taken the link of '\(upstream)', and not \(host ?? "another host"); order it again.")
    case .tooLate:
      self.init(
        .expired,
        "The link of '\(upstream)' was to go, but no other host has taken it in time; see what 'gatewayctl fleet' and their logs say."
      )
    case .isWantedAgain:
      self.init(
        .conflict,
        "A reload has told this host meanwhile to take links again, that of '\(upstream)' too; see what 'gatewayctl fleet' says, and order it again."
      )
    }
  }

  /// Why a host is not forgotten.
  init(_ failure: FleetForgetting.Failure, of host: String) {
    let upstream = failure.upstream
    switch failure.problem {
    case .order(let problem): self.init(problem, of: upstream, to: host)
    case .mayNotForget(let words):
      self.init(
        .permissionDenied,
        "This host's Redis user may not remove what '\(upstream)' has of \(host) (\(words)); ask on a host that may hold, or give the user the rights of one."
      )
    case .isThisHost:
      self = .invalid(
        "host",
        "\(host) is this host; take `fleet = true` out of its upstreams and reload it, and ask another host when it is taken for dead."
      )
    case .holds:
      self.init(
        .conflict,
        "\(host) has the link of '\(upstream)', or had it last and no other host has taken it; give it to another one ('fleet.move'), or start one that may hold."
      )
    case .lives:
      self.init(
        .conflict,
        "\(host) lives, or has not been silent for `fleet.adopt` yet ('\(upstream)'); stop it first, and wait until it is taken for dead."
      )
    case .isNotAdopted:
      self.init(
        .conflict,
        "\(host) is silent, but its durable sends to '\(upstream)' are not the fleet's yet, which the host with the link makes them; see in 'gatewayctl fleet' that one has it, and ask again."
      )
    case .waits(let count):
      self.init(
        .conflict,
        "\(count) durable \(count == 1 ? "send" : "sends") of \(host) to '\(upstream)' \(count == 1 ? "has" : "have") still to be written by the host with the link, where 'outbox.list' shows them; ask again when that is done."
      )
    case .left(let count):
      self.init(
        .conflict,
        "\(count) durable \(count == 1 ? "send" : "sends") to '\(upstream)' \(count == 1 ? "is" : "are") kept for \(host) and written by no other host, because it has no row there any more, or because the sender has lost the right to send; start a host of that name, which writes them when it may, and where they can be cancelled, and ask again when it is taken for dead."
      )
    case .interrupted:
      self.init(
        .upstreamDown,
        "The fleet's Redis was lost while \(host) was being forgotten; ask again, which goes on with what is left.",
        [.init("reason", .string(DownReason.fleet.rawValue))])
    }
  }

  /// `lineLimit`: how long the line of the answer may be.
  init(_ problems: ConfigurationProblems, lineLimit: Int) {
    let first = problems.all.first.map { " First: \($0)".shortened(to: lineLimit / 16) } ?? ""
    // A quarter of the line and what every line may have are for everything else.
    let (list, leftOut) = problems.list("mistakes", within: lineLimit - lineLimit / 4 - 1_024)
    self.init(
      .invalidParams,
      "The new configuration has \(problems.count) problem(s); the old one stays in force.\(first)",
      [.init("problems", .raw(list))] + (leftOut > 0 ? [.init("left_out", .integer(leftOut))] : []))
  }
}

extension ConfigurationProblems {
  /// A JSON array with the file, line and message of as many as fit into so many bytes, and behind them how many of what
  /// they are did not; and how many did not.
  func list(_ what: String, within limit: Int) -> (json: [UInt8], leftOut: Int) {
    func write(_ problem: ConfigurationProblem, _ out: inout JSONWriter) {
      out.object {
        $0.member("file", problem.file)
        $0.member("line", problem.line)
        $0.member("message", problem.message)
      }
    }
    var list = JSONWriter()
    list.beginArray()
    let leftOut = list.values(listed, within: limit, write) + self.leftOut
    if leftOut > 0 { write(.rest(leftOut, what, of: all.last?.file ?? ""), &list) }
    list.endArray()
    return (list.bytes, leftOut)
  }
}
