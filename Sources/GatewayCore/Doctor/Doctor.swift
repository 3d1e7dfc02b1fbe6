/// Walks from the name of a server to an accepted namespace, on connections of its own, and says at each step what it
/// saw. Ends where going on is senseless, and in any case when its time is up. Decision 0027.
final class Doctor {
  let specification: UpstreamSpecification
  let seams: DoctorSeams
  /// Of the examination's own, whose links no connection shares.
  let connector: any UpstreamConnector
  /// What the kind of upstream has to be looked at.
  let examination: UpstreamTraits.Examination
  let timers: Timers
  let time: any TimeSource
  /// How the upstream is dialled; every other request is made from it.
  private(set) var dial: DialRequest
  private let credentials: UpstreamCredentials
  /// For all steps together.
  private let limit: Duration

  private(set) var findings: [DoctorFinding] = []
  private let onFinding: (DoctorFinding) -> Void
  /// Called once, unless it is cancelled before.
  private var onEnd: (([DoctorFinding]) -> Void)?
  private(set) var step = DoctorStep.name
  private var stepBegan: MonotonicInstant
  private var deadline: Timers.ID?
  /// What is under way; only one thing ever is.
  private var underWay: (any HTTPExchange)?

  /// What the server speaks, once it is known.
  var revision: EngineIORevision?
  /// Long-polling got its handshake.
  var pollingWorks = false
  var webSocketWorks = false
  /// Of one question and its answer, the shortest so far.
  var roundTrip: Duration?
  var stickiness = Stickiness()

  /// A longer round trip is worth a warning.
  static let slow: Duration = .milliseconds(500)

  init(
    _ specification: UpstreamSpecification, _ kind: any UpstreamKind, seams: DoctorSeams, timers: Timers,
    time: any TimeSource, limit: Duration, onFinding: @escaping (DoctorFinding) -> Void,
    onEnd: @escaping ([DoctorFinding]) -> Void
  ) {
    self.specification = specification
    self.seams = seams
    self.timers = timers
    self.time = time
    self.limit = limit
    self.onFinding = onFinding
    self.onEnd = onEnd
    connector = kind.connector(for: specification)
    examination = kind.traits.examination
    dial = connector.route
    credentials = UpstreamCredentials(specification, readings: CredentialReads(reader: seams.credentials))
    stepBegan = time.now
  }

  /// Begins with the name of the server.
  func start() {
    deadline = timers.after(limit) { [weak self] in self?.timeIsUp() }
    let settings = specification.settings
    guard !settings.headerSources.isEmpty || !settings.querySources.isEmpty else { return lookAtRoute() }
    credentials.read { [weak self] result in
      guard let self, onEnd != nil else { return }
      // What cannot be read is told where it is asked for, with the credentials of the namespace.
      if let secrets = try? result.get() { dial = dial.adding(secrets) }
      lookAtRoute()
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

  /// The fastest answer counts.
  func noteRoundTrip(_ duration: Duration) { roundTrip = min(roundTrip ?? duration, duration) }

  /// Tells all findings and lets go of everything.
  func finish() {
    let onEnd = onEnd
    self.onEnd = nil
    letGo()
    onEnd?(findings)
  }

  private func timeIsUp() {
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
}
