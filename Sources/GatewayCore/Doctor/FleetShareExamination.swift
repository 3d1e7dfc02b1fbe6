/// The steps `fleet.lease`, `fleet.hosts` and `fleet.delay`: what the hosts make of it.
final class FleetShareExamination {
  private unowned let doctor: Doctor
  private let subject: FleetSubject
  private var probe: RedisProbe?

  init(_ doctor: Doctor, _ subject: FleetSubject) {
    self.doctor = doctor
    self.subject = subject
  }

  private var lease: Duration { subject.link.settings.lease }

  func start(_ probe: RedisProbe) {
    self.probe = probe
    doctor.begin(.fleetLease)
    readLease { [weak self] first in
      guard let self else { return }
      doctor.timers.after(LeaseLook(lease: lease).pause) { [weak self] in self?.readLease { self?.leaseSeen(first, $0) }
      }
    }
  }

  private func rows(_ part: FleetKey.Part, _ done: @escaping ([String: [UInt8]]) -> Void) {
    probe?.ask(["HGETALL", subject.key(part)]) { [weak self] answer in
      guard case .value(.array(let parts)) = answer else {
        self?.doctor.finish(at: answer)
        return
      }
      var rows: [String: [UInt8]] = [:]
      for at in stride(from: 0, to: parts.count - 1, by: 2) {
        if case .bytes(let name) = parts[at], case .bytes(let value) = parts[at + 1] {
          rows[String(decoding: name, as: UTF8.self)] = value
        }
      }
      done(rows)
    }
  }

  private func readLease(_ done: @escaping (FleetLeaseRecord) -> Void) { rows(.lease) { done(FleetLeaseRecord($0)) } }

  // MARK: - fleet.lease

  /// This host takes no link itself: without that of another host it has none.
  private var depends: Bool { !subject.fleet.options.hold.mayHold || subject.fleet.abstains }

  private func leaseSeen(_ first: FleetLeaseRecord, _ record: FleetLeaseRecord) {
    let look = LeaseLook(lease: lease)
    let isStill = look.isStill(first.sight, record.sight, left: subject.link.roster.leaseLeft)
    switch record.holder {
    case nil:
      doctor.find(
        depends && isStill ? .failed : .warning, "fleet.lease.never", "No host has ever held the link.",
        "A host that may hold takes it after a lease: start one, with `hold = \"may\"`.")
    case "":
      doctor.find(
        depends && isStill ? .failed : .warning, "fleet.lease.free",
        "\(record.own?.host ?? "The last host") has given the link back, and no host has taken it.",
        "Start a host that may hold, or look why those that run do not ('gatewayctl fleet').")
    case let holder?:
      let term = "in term \(record.own?.term ?? 0)\(age(record))"
      if isStill {
        doctor.find(
          depends && subject.link.roster.leaseLeft == .zero ? .failed : .warning, "fleet.lease.silent",
          "\(holder) holds the link \(term), and has said nothing for \(look.silence.milliseconds) ms.",
          "If it stays so another host takes over; look whether \(holder) lives and reaches Redis.")
      } else if record.isOpen {
        doctor.find(.ok, "fleet.lease.ok", "\(holder) holds the link \(term); the link to the server is up.")
      } else {
        doctor.find(
          depends && record.trouble != nil ? .failed : .warning, "fleet.lease.down",
          "\(holder) holds the link \(term); the link to the server is down\(record.trouble.map { ": \($0.detail)" } ?? "").",
          "Look on \(holder) why: 'gatewayctl status' there, and 'gatewayctl doctor'.")
      }
    }
    guard doctor.findings.last?.verdict != .failed else { return doctor.finish() }
    doctor.begin(.fleetHosts)
    // Of a large fleet this host knows the others only when it has looked.
    subject.link.roster.refresh { [weak self] in
      self?.rows(.hosts) { [weak self] in self?.hostsSeen($0.compactMapValues { FleetHostRow($0) }, record) }
    }
  }

  private func age(_ record: FleetLeaseRecord) -> String {
    guard let since = record.since else { return "" }
    let seconds = max(0, doctor.time.wallMilliseconds - Int64(clamping: since)) / 1_000
    return ", for \(seconds) s by its clock"
  }

  // MARK: - fleet.hosts

  private func hostsSeen(_ hosts: [String: FleetHostRow], _ record: FleetLeaseRecord) {
    let fleet = subject.fleet
    if let objection = subject.link.settings.objection(to: record) {
      let isOfVersion = objection.reason == .incompatible
      // The other one begins with the name of this host.
      doctor.find(
        .failed, isOfVersion ? "fleet.hosts.version" : "fleet.hosts.differ",
        isOfVersion ? Doctor.sentence(objection.detail) : objection.detail + ".",
        isOfVersion
          ? "Install the same gatewayd on all hosts of the fleet."
          : "Make these settings the same on all hosts, and reload; what is in [fleet] needs a restart.")
      return doctor.finish()
    }
    let roster = subject.link.roster
    let alive = hosts.filter { $0.key == fleet.host || !$0.value.isAdopted && roster.isAlive($0.key) != false }.keys
      .sorted()
    let heirs = alive.filter { hosts[$0]?.details.mayHold == true }
    let versions = Set(alive.compactMap { hosts[$0]?.details.release }.filter { !$0.isEmpty }).sorted()
    let seen =
      "\(alive.count) of \(hosts.count) known hosts live, \(heirs.count) of which may hold; gatewayd \(versions.joined(separator: ", "))."
    let odd = alive.filter { !(hosts[$0]?.details.agreement.differences(from: record.agreement).isEmpty ?? true) }
    if let taken = fleet.takenName {
      doctor.find(
        .warning, "fleet.hosts.namesake",
        "\(seen) Another daemon of the fleet is called \(taken), as this one was to be.",
        subject.namesakeAdvice(taken))
    } else if !odd.isEmpty {
      doctor.find(
        .warning, "fleet.hosts.others_differ",
        "\(seen) \(odd.joined(separator: ", ")): other settings than the holder.",
        "'gatewayctl fleet' names the settings: make them the same on all hosts.")
    } else if versions.count > 1 {
      doctor.find(.warning, "fleet.hosts.versions", seen, "Install the same version on all hosts.")
    } else if heirs.count < 2 {
      doctor.find(
        .warning, "fleet.hosts.no_heir", seen,
        "When the one that holds dies no other takes over: let a second host hold.")
    } else {
      doctor.find(.ok, "fleet.hosts.ok", seen)
    }
    measure()
  }

  // MARK: - fleet.delay

  /// An entry there, and its place back.
  private func measure() {
    doctor.begin(.fleetDelay)
    let began = doctor.time.now
    probe?.ask(subject.entry) { [weak self] answer in
      guard let self else { return }
      guard case .value = answer else { return doctor.finish(at: answer) }
      delaySeen(doctor.time.now - began)
    }
  }

  private func delaySeen(_ took: Duration) {
    let seen = "An entry takes \(Double(took.nanoseconds / 100_000) / 10) ms to Redis and back."
    if took >= lease / 10 {
      doctor.find(
        .warning, "fleet.delay.slow", seen,
        "That is much of the lease of \(lease.milliseconds) ms: raise `lease` on all hosts, or have Redis nearer.")
    } else {
      doctor.find(.ok, "fleet.delay.ok", seen)
    }
    probe?.close()
    guard subject.fleet.options.hold.mayHold else { return doctor.finish() }
    doctor.startRoute()
  }
}

/// Whether a holder lives, by two looks at its lease.
struct LeaseLook: Equatable {
  let lease: Duration

  /// An examination has other things to look at.
  private static let pauseLimit: Duration = .seconds(5)

  /// How far the two looks are apart: a holder raises its beat every third of the lease.
  var pause: Duration { min(lease / 2, Self.pauseLimit) }

  private var isLongEnough: Bool { pause == lease / 2 }

  /// After how long without a beat a holder counts as silent here.
  var silence: Duration { isLongEnough ? pause : lease }

  /// - Parameter left: how long the lease lasts by what this host has seen of it; nil where it does not know.
  func isStill(_ first: FleetSight, _ second: FleetSight, left: Duration?) -> Bool {
    first == second && (isLongEnough || left ?? .zero == .zero)
  }
}
