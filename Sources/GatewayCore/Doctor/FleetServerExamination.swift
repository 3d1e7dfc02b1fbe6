/// What the doctor looks at of a fleet: this host's share in one upstream.
struct FleetSubject {
  let fleet: Fleet
  let link: FleetLink

  /// Nil for an upstream that is not shared.
  init?(_ fleet: Fleet, _ specification: UpstreamSpecification) {
    guard specification.settings.fleet, let name = specification.name,
      let link = fleet.link(of: fleet.place(name, specification.namespace))
    else { return nil }
    (self.fleet, self.link) = (fleet, link)
  }

  func key(_ part: FleetKey.Part) -> String { link.place.key(part).text }

  /// What to do where another daemon has the name that this one was to have.
  func namesakeAdvice(_ name: String) -> String {
    "Give one of the two another `host` in `[fleet]`, and restart it. This one is called \(name) again when the other has been silent for `adopt`, or after 'gatewayctl reload' here."
  }

  /// Something to write. No host knows the word in it, and the one that holds forgets it with the others: the users of Redis
  /// need not be able to read or remove it.
  var entry: [String] { ["XADD", key(.up), "*", "op", "doctor"] }
}

extension RedisProbe: HTTPExchange {
  func cancel() { close() }
}

extension Doctor {
  /// Ends where Redis refuses what is asked, or the connection to it is over.
  func finish(at answer: RedisProbe.Answer) {
    if case .error(let error) = answer {
      find(
        .failed, "\(step.rawValue).refused", "Redis refuses what is asked of it here (\(error.sentence)).",
        "Look into the log of Redis: what hosts ask of it it refuses as well.")
    } else {
      find(
        .failed, "\(step.rawValue).lost", "The connection to Redis ended.",
        "Look into the log of Redis, and try again.")
    }
    finish()
  }
}

/// The steps `fleet.redis`, `fleet.rights`, `fleet.memory`, `fleet.disk` and `fleet.replicas`, on a connection of their own.
final class FleetServerExamination {
  private unowned let doctor: Doctor
  private let subject: FleetSubject
  private var probe: RedisProbe?
  /// The server is older than Redis 7.0.
  private var isOld = false
  private lazy var share = FleetShareExamination(doctor, subject)

  init(_ doctor: Doctor, _ subject: FleetSubject) {
    self.doctor = doctor
    self.subject = subject
  }

  private var options: FleetOptions { subject.fleet.options }
  private var user: String { options.user ?? "default" }

  // MARK: - fleet.redis

  func start() {
    doctor.begin(.fleetRedis)
    guard let probe = subject.fleet.makeProbe() else {
      doctor.find(.skipped, "fleet.redis.none", "There is no Redis to look at.")
      return doctor.startRoute()
    }
    self.probe = probe
    doctor.hold(probe)
    probe.begin { [weak self] result in
      switch result {
      case .success(let reached): self?.reached(reached)
      case .failure(let misses): self?.missed(misses.all)
      }
    }
  }

  private func reached(_ reached: RedisProbe.Reached) {
    let login = options.password == nil ? "without a login" : "as \(user)"
    let seen =
      "\(reached.place) is Redis \(reached.version), the master, over \(reached.secure ? "TLS" : "plain TCP"), \(login)."
    isOld = reached.version.split(separator: ".").first.flatMap { Int($0) }.map { $0 < 7 } ?? false
    if options.user != nil, isOld {
      doctor.find(
        .warning, "fleet.redis.before_7", seen,
        "Before Redis 7.0 a user cannot be let read keys that it may not write: hosts that never hold can publish all the same. Use 7.0 or later."
      )
    } else {
      doctor.find(.ok, "fleet.redis.ok", seen)
    }
    lookAtRights()
  }

  private func missed(_ misses: [RedisMiss]) {
    let sentences = misses.map(\.failure.detail)
    // Of several the advice is for one that this host's configuration, or the user, is to blame for.
    let verdicts = misses.map { Self.code(of: $0.trouble) }
    let verdict = verdicts.first { $0.isOwn } ?? verdicts[0]
    doctor.find(
      .failed, verdict.code,
      sentences.map { Doctor.sentence(UpstreamFailure(.fleet, $0)) }.joined(separator: " "),
      verdict.advice)
    doctor.finish()
  }

  /// `isOwn`: it lies in this host's configuration, or in the user's.
  private static func code(of trouble: RedisTrouble) -> (code: String, isOwn: Bool, advice: String) {
    switch trouble {
    case .noCredential:
      (
        "fleet.redis.password", true,
        "Repair `password_file` or `password_credential` in `[fleet]`: the daemon has to be able to read it."
      )
    case .loginMissing:
      ("fleet.redis.login", true, "Redis wants a login: set `user` and `password_file` in `[fleet]`.")
    case .loginRefused:
      ("fleet.redis.login", true, "Redis does not know this user and password: compare them with 'ACL LIST' there.")
    case .forbidden:
      ("fleet.redis.forbidden", true, "Let this user do what every host has to: ROLE, INFO and CLIENT among it.")
    case .tooOld: ("fleet.redis.old", true, "Use Redis or Valkey from \(RedisLogin.oldestVersion) on.")
    case .replica:
      ("fleet.redis.replica", false, "Only the master takes writes: name it in `redis` of `[fleet]` too.")
    case .bare, .bettered:
      (
        "fleet.redis.replica", false,
        "Start the replicas that `copies` of `[fleet]` wants, or name the master that has them."
      )
    case .sentinel:
      ("fleet.redis.foreign", true, "Name the servers that the Sentinel watches, and not the Sentinel.")
    case .malformed, .senseless:
      (
        "fleet.redis.foreign", true,
        "What listens there is no Redis: check host and port, and whether it wants rediss://."
      )
    case .silent:
      ("fleet.redis.silent", false, "It takes connections and says nothing: it hangs, or something in between does.")
    case .turnedAway:
      (
        "fleet.redis.turned_away", false,
        "It has too many clients (`maxclients`), or is in protected mode: look into its log."
      )
    case .moved, .clusterChanges:
      ("fleet.redis.cluster", false, "Its cluster is about to change: try again in a moment.")
    case .loading, .busy: ("fleet.redis.busy", false, "It is not ready: try again in a moment, and look into its log.")
    case .twoServers, .scriptsForgotten, .distrusted:
      ("fleet.redis.unstable", false, "What stands behind that address changes: name each server by its own.")
    case .link where trouble.isForWantOfTLS:
      ("fleet.redis.tls", true, "Write redis:// in `redis` of `[fleet]`, or name the port that has TLS.")
    case .link(let failure):
      switch failure.reason {
      case .tls: ("fleet.redis.tls", true, "Check the certificate of that Redis, and `tls.ca` in `[fleet]`.")
      case .closed:
        (
          "fleet.redis.unreachable", false,
          "It takes connections and ends them: look whether that port wants TLS, which is rediss:// in `redis` of `[fleet]`, and into its log."
        )
      default:
        (
          "fleet.redis.unreachable", false,
          "Start it, or correct `redis` in `[fleet]`; other hosts have to reach the same one."
        )
      }
    }
  }

  // MARK: - fleet.rights

  private var rights: FleetRights {
    let host = subject.fleet.host
    return FleetRights(
      place: subject.link.place, host: host, mayHold: options.hold.mayHold,
      other: subject.link.roster.hosts.keys.filter { $0 != host }.min(), waits: options.copies > 0)
  }

  private func lookAtRights() {
    doctor.begin(.fleetRights)
    let rights = rights
    attempt(rights.trials[...], of: rights, denied: [])
  }

  private func attempt(_ trials: ArraySlice<FleetRights.Trial>, of rights: FleetRights, denied: [FleetRights.Denial]) {
    guard let trial = trials.first else { return rightsSeen(denied, of: rights) }
    probe?.ask(trial.words) { [weak self] answer in
      guard let self else { return }
      var denied = denied
      switch answer {
      case .none: return doctor.finish(at: answer)
      case .error(let error): if let denial = FleetRights.Denial(of: trial, error) { denied.append(denial) }
      case .value: break
      }
      attempt(trials.dropFirst(), of: rights, denied: denied)
    }
  }

  private func rightsSeen(_ denied: [FleetRights.Denial], of rights: FleetRights) {
    guard denied.isEmpty else {
      if let taken = subject.fleet.takenName {
        doctor.find(
          .failed, "fleet.rights.namesake",
          "Another daemon of the fleet is called \(taken), as this one was to be: it is called \(rights.host), and the user \(user) may not do \(FleetRights.names(of: denied)).",
          subject.namesakeAdvice(taken))
        return doctor.finish()
      }
      if rights.areOfHolderAlone(denied) {
        doctor.find(
          .failed, "fleet.rights.never_holds",
          "The user \(user) may do all that a host does that never holds, and nothing that one does which may.",
          "Write `hold = \"never\"` in `[fleet]`; if this host is to hold say to Redis, and to its replicas: 'ACL SETUSER \(user) \(rights.rules(for: denied, tellsAccess: !isOld).joined(separator: " "))'."
        )
        return doctor.finish()
      }
      let rules = rights.rules(for: denied, tellsAccess: !isOld).joined(separator: " ")
      doctor.find(
        .failed, "fleet.rights.missing", "The user \(user) may not do \(FleetRights.names(of: denied)).",
        "Say to Redis, and to its replicas: 'ACL SETUSER \(user) \(rules)'.")
      return doctor.finish()
    }
    let count = rights.trials.count
    doctor.find(.ok, "fleet.rights.ok", "The user \(user) may do all \(count) things that this host has to.")
    ask("memory") { [weak self] in self?.memorySeen($0) }
  }

  // MARK: - fleet.memory

  /// A section of INFO, as its facts.
  private func ask(_ section: String, _ done: @escaping ([String: String]) -> Void) {
    probe?.ask(["INFO", section]) { [weak self] answer in
      guard case .value(.bytes(let bytes)) = answer else {
        self?.doctor.finish(at: answer)
        return
      }
      done(RedisLogin.facts(bytes.span.bytes))
    }
  }

  /// In MiB, or in KiB where that would say little.
  private static func size(_ bytes: Int) -> String {
    bytes < 10 << 20 ? "\(bytes >> 10) KiB" : "\(bytes >> 20) MiB"
  }

  private func memorySeen(_ facts: [String: String]) {
    doctor.begin(.fleetMemory)
    let used = facts["used_memory"].flatMap { Int($0) } ?? 0
    let limit = facts["maxmemory"].flatMap { Int($0) } ?? 0
    let policy = facts["maxmemory_policy"] ?? "unknown"
    let amount = Self.size(used) + (limit > 0 ? " of \(Self.size(limit))" : ", without a limit,")
    let seen = "Redis has \(amount) in use; when it is full it does as \(policy) says."
    if limit > 0, used >= limit {
      doctor.find(
        .failed, "fleet.memory.full", seen, "It is full: raise `maxmemory`, or take from it what else is there.")
      return doctor.finish()
    }
    if limit > 0, policy != "noeviction" {
      doctor.find(
        .warning, "fleet.memory.evicts", seen,
        "Set `maxmemory-policy noeviction`: what it throws away is missing in the fleet, and with it who holds.")
    } else if limit > 0, used > limit / 10 * 9 {
      doctor.find(
        .warning, "fleet.memory.scarce", seen, "Raise `maxmemory`, or lower `history.events` of the upstream.")
    } else {
      doctor.find(.ok, "fleet.memory.ok", seen)
    }
    ask("persistence") { [weak self] in self?.persistenceSeen($0) }
  }

  // MARK: - fleet.disk

  private func persistenceSeen(_ facts: [String: String]) {
    doctor.begin(.fleetDisk)
    guard facts["aof_enabled"] == "1" else {
      doctor.find(
        .warning, "fleet.disk.off", "Redis keeps no append-only file.",
        "After a restart of it the fleet has another epoch, and its hosts repeat what they are not sure of: set `appendonly yes`."
      )
      return askReplicas()
    }
    guard facts["aof_last_write_status"] != "err" else {
      doctor.find(
        .failed, "fleet.disk.failing", "Redis cannot write its append-only file.",
        "Look for room on its disk, and into its log.")
      return doctor.finish()
    }
    probe?.ask(["CONFIG", "GET", "appendfsync"]) { [weak self] in self?.syncSeen($0) }
  }

  private func syncSeen(_ answer: RedisProbe.Answer) {
    var mode: String?
    if case .value(.array(let parts)) = answer, case .bytes(let bytes)? = parts.last {
      mode = String(decoding: bytes, as: UTF8.self)
    }
    switch mode {
    case "always": doctor.find(.ok, "fleet.disk.ok", "Redis has everything on its disk that it has acknowledged.")
    case "no":
      doctor.find(
        .warning, "fleet.disk.late", "Redis leaves it to its system when something is on the disk.",
        "When its machine dies that may be half a minute of the fleet: set `appendfsync everysec`.")
    case nil:
      doctor.find(
        .ok, "fleet.disk.ok",
        "Redis keeps an append-only file; how often it is synced this user may not see (CONFIG GET).")
    default:
      doctor.find(
        .ok, "fleet.disk.ok", "Redis keeps an append-only file; when its machine dies at most a second is lost.")
    }
    askReplicas()
  }

  // MARK: - fleet.replicas

  private func askReplicas() { ask("replication") { [weak self] in self?.replicasSeen($0) } }

  private func replicasSeen(_ facts: [String: String]) {
    doctor.begin(.fleetReplicas)
    let count = facts["connected_slaves"].flatMap { Int($0) } ?? 0
    let seen =
      "\(count) \(count == 1 ? "replica is" : "replicas are") connected, and \(options.copies) must confirm (`copies`)."
    if count < options.copies {
      doctor.find(
        .failed, "fleet.replicas.few", seen,
        "Without as many no host can hold: start them, or lower `copies` in `[fleet]`.")
      return doctor.finish()
    }
    guard options.copies == 0 else { return tryCopies(of: count) }
    if count > 0 {
      doctor.find(
        .warning, "fleet.replicas.unconfirmed", seen,
        "At a failover two hosts may write for a lease, and what was not copied is lost: set `copies = 1` on all hosts."
      )
    } else {
      doctor.find(.skipped, "fleet.replicas.none", "There are no replicas, and none must confirm.")
    }
    startShare()
  }

  /// One that is connected need not confirm anything. WAIT asks about what this connection has written; where that is
  /// nothing it counts all of them.
  private func tryCopies(of count: Int) {
    probe?.ask(subject.entry) { [weak self] answer in
      guard let self else { return }
      guard case .value = answer else { return doctor.finish(at: answer) }
      let limit = RedisSettings(options).copyLimit.milliseconds
      probe?.ask(["WAIT", String(options.copies), String(limit)]) { [weak self] answer in
        guard let self else { return }
        guard case .value(.integer(let confirming)) = answer else { return doctor.finish(at: answer) }
        copiesSeen(of: count, Int(clamping: confirming), within: limit)
      }
    }
  }

  private func copiesSeen(of count: Int, _ confirming: Int, within limit: Int64) {
    let seen =
      "\(count) \(count == 1 ? "replica is" : "replicas are") connected, \(confirming) confirmed an entry within \(limit) ms, and \(options.copies) must (`copies`)."
    guard confirming >= options.copies else {
      doctor.find(
        .failed, "fleet.replicas.behind", seen,
        "Without as many no host can hold: look whether the replicas hang or lag, and into their logs, or lower `copies` in `[fleet]`."
      )
      return doctor.finish()
    }
    doctor.find(.ok, "fleet.replicas.ok", seen)
    startShare()
  }

  private func startShare() {
    if let probe { share.start(probe) }
  }
}
