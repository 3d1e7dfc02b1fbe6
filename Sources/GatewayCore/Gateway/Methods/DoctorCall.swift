/// `doctor`: what is wrong between here and a server. Tells each finding as `progress`, and all of them in the end.
struct DoctorCall: LocalCall {
  var target: LookTarget
  var timeout: Duration

  /// Most examinations at a time of one user's clients; all users together may have twice as many, a client one.
  static let limit = 4

  static let method = LocalMethod(
    "doctor", "Walks from the name of a server to an accepted namespace, on connections of its own.", right: .send,
    parameters: LocalParameter.lookTarget + [
      .optional(
        .timeout, .duration(default: 30_000), "How long all of it may take, in milliseconds; 30000 unless given.")
    ],
    result: ResultSchemas.doctor)

  static let startsWork = true

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    let gateway = session.gateway
    let specification = try session.caller.specification(session.caller.target(target), need: .send)
    guard let seams = gateway.seams.doctor,
      let kind = ConnectionFactory(kinds: seams.makeKinds().all).kind(of: specification.url)
    else {
      throw LocalError(.internalError, "This gateway has no network to examine.")
    }
    guard session.openCalls(OpenExamination.self).isEmpty else { throw Self.tooMany([.init("limit", .integer(1))]) }
    let user = Account.user(session.peer.uid)
    do throws(SharedBounds.Overrun) { try gateway.shares.doctors.check(for: user) } catch {
      throw Self.tooMany(error.facts)
    }
    // A notification is never answered.
    guard let id else { return }
    let number = session.makeCallNumber()
    let doctor = Doctor(
      specification, kind, seams: seams, timers: gateway.seams.timers, time: gateway.seams.time, limit: timeout,
      fleet: gateway.upstreams.fleet.flatMap { FleetSubject($0, specification) },
      onFinding: { [weak session] in session?.say(LocalNotification.progress(id, $0)) },
      onEnd: { [weak session] in
        guard let session else { return }
        Self.end(number, with: $0, in: session)
      })
    gateway.shares.doctors.count(for: user)
    session.open(OpenExamination(id, doctor), number: number)
    doctor.awaitTurn()
    // It connects, as an attempt does, and waits for its turn as one.
    if gateway.upstreams.budget.takeFreeTurn() { return doctor.start() }
    let attempt = AttemptBudget.Candidate(
      isWanted: { [weak doctor] in doctor?.awaitsTurn == true },
      start: { [weak doctor] in doctor?.start() })
    _ = gateway.upstreams.budget.wait(attempt, for: user)
  }

  private static func tooMany(_ facts: [LocalError.Fact]) -> LocalError {
    LocalError(
      .quotaExceeded, "So many examinations are under way already; wait until one of them has ended.",
      [.init("quota", .string("doctors"))] + facts)
  }

  /// The examination is over: its answer is all that it found.
  private static func end(_ number: UInt64, with findings: [DoctorFinding], in session: LocalSession) {
    guard let call = session.close(number) else { return }
    call.cancel(in: session)
    session.reply(call.requestID) { out in
      out.member("verdict", findings.verdict.rawValue)
      out.key("steps")
      out.beginArray()
      for finding in findings { out.object { finding.write(into: &$0) } }
      out.endArray()
    }
  }
}

extension DoctorCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    target = try params.lookTarget(line)
    timeout = try params.required(.timeout, params.duration(.timeout, line))
  }
}

/// An examination that is under way.
private final class OpenExamination: OpenCall {
  let requestID: RequestID?
  private let doctor: Doctor

  init(_ id: RequestID, _ doctor: Doctor) {
    requestID = id
    self.doctor = doctor
  }

  func cancel(in session: LocalSession) {
    let user = Account.user(session.peer.uid)
    session.gateway.shares.doctors.giveBack(for: user)
    doctor.cancel()
    if !doctor.hasBegun { session.gateway.upstreams.budget.forgetUnwanted(of: user) }
  }

  func demandRights(in session: LocalSession) throws(LocalError) {
    let place = session.gateway.upstreams.resolver.place(of: doctor.specification)
    guard session.caller.may(.send, place) else {
      throw session.caller.denied(.send, doctor.specification, place)
    }
  }
}
