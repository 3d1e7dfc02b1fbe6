/// What the doctor looks at, in this order. The raw values are the `step` of a finding.
public enum DoctorStep: String, CaseIterable, Sendable {
  case fleetRedis = "fleet.redis"
  case fleetRights = "fleet.rights"
  case fleetMemory = "fleet.memory"
  case fleetDisk = "fleet.disk"
  case fleetReplicas = "fleet.replicas"
  case fleetLease = "fleet.lease"
  case fleetHosts = "fleet.hosts"
  case fleetDelay = "fleet.delay"
  case name, tcp, proxy, tls, http, engine, websocket, sticky, namespace, handshake, auth
  case roundTrip = "round_trip"

  /// Whether it looks at a fleet, and not at the server.
  public var isOfFleet: Bool {
    switch self {
    case .fleetRedis, .fleetRights, .fleetMemory, .fleetDisk, .fleetReplicas, .fleetLease, .fleetHosts, .fleetDelay:
      true
    case .name, .tcp, .proxy, .tls, .http, .engine, .websocket, .sticky, .namespace, .handshake, .auth, .roundTrip:
      false
    }
  }
}

/// How a step went.
enum DoctorVerdict: String, CaseIterable, Sendable {
  case ok
  /// It works, but something should be known or changed.
  case warning
  /// It does not work.
  case failed
  /// There was nothing to look at.
  case skipped
}

/// What the doctor found at one step. Without payloads and secrets.
struct DoctorFinding: Equatable, Sendable {
  var step: DoctorStep
  var verdict: DoctorVerdict
  /// For programs: step and what was found, such as `tls.expired`. Never changes once released.
  var code: String
  /// What was seen, in one sentence.
  var seen: String
  /// What is wrong and what to do about it, in plain words; nil where nothing has to be done.
  var advice: String?
  /// How long the step took.
  var took: Duration

  /// Longest sentence about what was seen, in bytes.
  static let textLimit = 4 << 10

  init(
    _ step: DoctorStep, _ verdict: DoctorVerdict, _ code: String, _ seen: String, advice: String? = nil,
    took: Duration = .zero
  ) {
    self.step = step
    self.verdict = verdict
    self.code = code
    self.seen = seen.shortened(to: Self.textLimit)
    self.advice = advice
    self.took = took
  }

  /// The members of its JSON object.
  func write(into out: inout JSONWriter) {
    out.member("step", step.rawValue)
    out.member("verdict", verdict.rawValue)
    out.member("code", code)
    out.member("seen", seen)
    out.member("advice", advice)
    out.member("took", took.milliseconds)
  }
}

extension [DoctorFinding] {
  /// Of the whole: the worst of its parts.
  var verdict: DoctorVerdict {
    if contains(where: { $0.verdict == .failed }) { return .failed }
    return contains { $0.verdict == .warning } ? .warning : .ok
  }
}
