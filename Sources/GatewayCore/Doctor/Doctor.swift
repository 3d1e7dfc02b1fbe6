/// Walks from the name of a server to an accepted namespace, on connections of its own, and says at each step what it
/// saw. Ends where going on is senseless, and in any case when its time is up. Decision 0027.
final class Doctor {
  let specification: UpstreamSpecification
  let seams: DoctorSeams
  /// Of the examination's own, whose links no connection shares.
  let connector: any UpstreamConnector
  /// What of the kind of upstream has to be looked at.
  private let examination: UpstreamTraits.Examination
  let timers: Timers
  let time: any TimeSource
  /// How the upstream is dialled; every other request is made from it.
  private(set) var dial: DialRequest
  private let credentials: UpstreamCredentials
  /// Why they could not be read before the first request, which would lack its headers or its query.
  private var unread: CredentialProblem?
  /// For all steps together.
  private let limit: Duration

  private(set) var findings: [DoctorFinding] = []
  private let onFinding: (DoctorFinding) -> Void
  /// Called once, unless it is cancelled before.
  private var onEnd: (([DoctorFinding]) -> Void)?
  private(set) var step = DoctorStep.name
  private var stepBegan: MonotonicInstant
  /// Its turn has come.
  private(set) var hasBegun = false
  private var deadline: Timers.ID?
  /// What is under way; only one thing ever is.
  private var underWay: (any HTTPExchange)?

  /// What the upstream shares with other hosts; nil where it shares nothing.
  private let fleet: FleetSubject?
  private lazy var fleetServer = fleet.map { FleetServerExamination(self, $0) }
  private lazy var route = RouteExamination(self)
  private lazy var engineIO = EngineIOExamination(self)
  private lazy var handshake = HandshakeExamination(self)

  init(
    _ specification: UpstreamSpecification, _ kind: any UpstreamKind, seams: DoctorSeams, timers: Timers,
    time: any TimeSource, limit: Duration, fleet: FleetSubject? = nil, onFinding: @escaping (DoctorFinding) -> Void,
    onEnd: @escaping ([DoctorFinding]) -> Void
  ) {
    self.specification = specification
    self.seams = seams
    self.timers = timers
    self.time = time
    self.limit = limit
    self.fleet = fleet
    self.onFinding = onFinding
    self.onEnd = onEnd
    connector = kind.connector(for: specification)
    examination = kind.traits.examination
    dial = connector.route
    credentials = UpstreamCredentials(specification, readings: CredentialReads(reader: seams.credentials))
    stepBegan = time.now
  }

  /// Its time runs from now on; it begins with `start`.
  func awaitTurn() {
    deadline = timers.after(limit) { [weak self] in self?.timeIsUp() }
  }

  /// Whether it may still begin.
  var awaitsTurn: Bool { onEnd != nil && !hasBegun }

  /// Begins with the fleet, where there is one, else with the name of the server.
  func start() {
    hasBegun = true
    if let fleetServer { fleetServer.start() } else { startRoute() }
  }

  /// The fleet is in order, and this host may have the link.
  func startRoute() {
    begin(.name)
    let settings = specification.settings
    guard !settings.headerSources.isEmpty || !settings.querySources.isEmpty else { return route.start() }
    credentials.read(while: { [weak self] in self?.onEnd != nil }) { [weak self] result in
      guard let self, onEnd != nil else { return }
      switch result {
      case .success(let secrets): dial = dial.adding(secrets)
      case .failure(let problem): unread = problem
      }
      route.start()
    }
  }

  /// Ends it; nothing more is told.
  func cancel() {
    onEnd = nil
    letGo()
  }

  // MARK: - For the steps

  /// `host:port`.
  var place: String { dial.authority }

  /// What is found from now on belongs to this step.
  func begin(_ step: DoctorStep) {
    self.step = step
    stepBegan = time.now
  }

  /// Keeps what is under way, and lets go of what was before.
  func hold(_ exchange: any HTTPExchange) { underWay = exchange }

  /// Tells one finding of the present step.
  func find(_ verdict: DoctorVerdict, _ code: String, _ seen: String, _ advice: String? = nil) {
    find(DoctorFinding(step, verdict, code, seen, advice: advice))
  }

  func find(_ finding: DoctorFinding) {
    var finding = finding
    finding.took = time.now - stepBegan
    findings.append(finding)
    onFinding(finding)
  }

  /// Tells all findings and lets go of everything.
  func finish() {
    let onEnd = onEnd
    self.onEnd = nil
    letGo()
    onEnd?(findings)
  }

  /// Name, port, proxy and TLS are in order: what the kind of upstream has to be looked at follows.
  func routeIsOpen() {
    if let unread {
      credentialsMissing(unread)
      return finish()
    }
    switch examination {
    case .stepwise: engineIO.start()
    case .handshake: handshake.start()
    }
  }

  private func timeIsUp() {
    guard hasBegun else {
      find(
        .failed, "\(step.rawValue).turn",
        "The time for the whole examination, \(limit.milliseconds) ms, was over before its turn came: too many attempts to connect start at once on this machine.",
        "Allow more time, or raise `attempts` in `[limits]`.")
      return finish()
    }
    find(
      .failed, "\(step.rawValue).time", "The time for the whole examination, \(limit.milliseconds) ms, was over here.",
      "The server or something in between is very slow: look at the step's neighbours, or allow more time.")
    finish()
  }

  private func letGo() {
    timers.cancel(deadline)
    deadline = nil
    underWay?.cancel()
    underWay = nil
  }

  // MARK: - What an attempt tells of the credentials

  /// After an attempt that went well.
  func credentialsAccepted() {
    if hasCredentials {
      find(.ok, "auth.ok", "The server accepts the credentials.")
    } else {
      find(.ok, "auth.none", "No credentials are configured, and the server asks for none.")
    }
  }

  /// Those of the HTTP request as well, as far as their names say that they are some.
  private var hasCredentials: Bool {
    let settings = specification.settings
    let isCredential = { (header: HTTPHeader) in ["authorization", "cookie"].contains(header.name.lowercased()) }
    return settings.auth != .none || credentials.requestIsRefreshable || specification.url.userInfo != nil
      || settings.headers.contains(where: isCredential)
  }

  /// After one that went well, and in which the server was not told them: revision 3 has no CONNECT of the main
  /// namespace that could have them.
  func credentialsUntold() {
    find(
      .warning, "auth.untold",
      "The server is not told the credentials: Socket.IO 1 and 2 have no place for them in the main namespace.",
      "Give them with `query` or `headers`, if the server looks at its HTTP requests, or use another namespace, which is the path of the URL."
    )
  }

  /// They could not be read, or not be used: another reading tells which. Ends the examination.
  func credentialsFailed(_ failure: UpstreamFailure) {
    credentials.read(while: { [weak self] in self?.onEnd != nil }) { [weak self] result in
      guard let self, onEnd != nil else { return }
      switch result {
      case .success: credentialsUnusable(failure)
      case .failure(let problem): credentialsMissing(problem)
      }
      finish()
    }
  }

  private func credentialsMissing(_ problem: CredentialProblem) {
    let settings = specification.settings
    var names: [String] = []
    if credentials.payloadIsRefreshable { names.append("`auth`") }
    if !settings.headerSources.isEmpty { names.append("`headers`") }
    if !settings.querySources.isEmpty { names.append("`query`") }
    begin(.auth)
    find(
      .failed, "auth.missing", Self.sentence(UpstreamFailure(.auth, problem.message)),
      "Repair the source of the credentials: the file or command that \(names.joined(separator: " or ")) names.")
  }

  private func credentialsUnusable(_ failure: UpstreamFailure) {
    begin(.auth)
    find(
      .failed, "auth.unusable", Self.sentence(failure),
      "The credentials are there, and cannot be used so: look what the server asks for, what `auth` has for it, and "
        + "whether it is only given over TLS.")
  }

  /// The server said no.
  func credentialsRefused(_ failure: UpstreamFailure) {
    begin(.auth)
    find(
      .failed, "auth.refused", Self.sentence(failure),
      specification.settings.auth == .none
        ? "If the server wants credentials, give them with `auth`; if it does not know what the URL names, correct the URL."
        : "The server does not accept us: renew the credentials, and look what it expects in `auth`.")
  }

  /// What was seen, for a person. The name of a host or of a file stays as it is written.
  static func sentence(_ failure: UpstreamFailure) -> String {
    let word = failure.detail.prefix { $0 != " " }
    guard !word.contains(where: { ".:/".contains($0) }) else { return failure.detail + "." }
    return sentence(failure.detail)
  }

  /// The same of what begins with an ordinary word.
  static func sentence(_ detail: String) -> String { detail.prefix(1).uppercased() + detail.dropFirst() + "." }
}
