/// What a server refused and has not carried out since, by upstream. What a host needs it asks for again all the time:
/// what it has not asked for again for longer than that takes, such as what only a holder says, it needs no more.
struct RedisRefusals {
  /// Why a call counts for nothing.
  enum Cause: Equatable {
    case error(RedisError)
    /// Too few replicas have it: so many, of so many that are wanted.
    case copies(Int, of: Int)
  }

  /// A call that was refused.
  struct Refusal: Equatable {
    let call: String
    let cause: Cause
    /// Nothing else of the upstream was refused.
    var isFirst: Bool
    fileprivate var at: MonotonicInstant
  }

  private var standing: [FleetPlace: [String: Refusal]] = [:]
  /// After so long without another refusal it is over.
  private let limit: Duration

  init(limit: Duration) { self.limit = limit }

  mutating func note(_ cause: Cause, of subject: RedisPipeline.Subject, at now: MonotonicInstant) -> Refusal {
    let call = Self.name(of: subject)
    let identity = Self.identity(of: subject)
    var others = standing[subject.key.place, default: [:]].filter { now - $0.value.at < limit }
    let refusal = Refusal(call: call, cause: cause, isFirst: others.isEmpty, at: now)
    others[identity] = refusal
    standing[subject.key.place] = others
    return refusal
  }

  /// True where nothing of the upstream is refused any more. Too few replicas are the server's affair and not that of one
  /// call: once one is confirmed, so is what was refused for want of them.
  mutating func noteDone(_ subject: RedisPipeline.Subject, isCopied: Bool) -> Bool {
    guard !standing.isEmpty, let before = standing[subject.key.place] else { return false }
    let done = Self.identity(of: subject)
    let others = before.filter { identity, refusal in
      if case .copies = refusal.cause, isCopied { return false }
      return identity != done
    }
    guard others.count < before.count else { return false }
    standing[subject.key.place] = others.isEmpty ? nil : others
    return others.isEmpty
  }

  /// Forgets those that are over; returns the upstreams of which nothing is refused any more.
  mutating func expire(at now: MonotonicInstant) -> [FleetPlace] {
    var accepted: [FleetPlace] = []
    for (place, before) in standing {
      let others = before.filter { now - $0.value.at < limit }
      standing[place] = others.isEmpty ? nil : others
      if others.isEmpty { accepted.append(place) }
    }
    return accepted
  }

  /// When the next one is over; nil where nothing is refused.
  var nextEnd: MonotonicInstant? {
    standing.values.lazy.flatMap { $0.values }.map { $0.at }.min().map { $0 + limit }
  }

  /// One that stands.
  func of(_ place: FleetPlace, at now: MonotonicInstant) -> Refusal? {
    standing[place]?.values.filter { now - $0.at < limit }.min { $0.call < $1.call }
  }

  /// What is read at once changes all the time.
  private static func identity(of subject: RedisPipeline.Subject) -> String {
    let call = "\(subject.call)"
    return call == RedisReading.call ? call : "\(call) \(subject.key.text)"
  }

  private static func name(of subject: RedisPipeline.Subject) -> String {
    "\(subject.call) of \(([subject.key] + subject.others).map(\.text).joined(separator: ", "))"
  }
}

extension RedisRefusals.Refusal {
  /// `server` is its address.
  func failure(of server: String) -> UpstreamFailure {
    switch cause {
    case .error(let error): UpstreamFailure(.refused, sentence(error, server))
    // It is the same for each call.
    case .copies(let count, let wanted):
      UpstreamFailure(
        .timeout,
        "\(server) has \(count) \(count == 1 ? "replica that confirms" : "replicas that confirm"), and `copies` wants \(wanted)"
      )
    }
  }

  private func sentence(_ error: RedisError, _ server: String) -> String {
    switch error.meaning {
    case .refused(.full): "\(server) has no room for \(call) (\(error.sentence))"
    case .refused(.forbidden):
      "\(server) does not let this user do what the fleet needs, \(call) (\(error.sentence))"
    case .fenced, .passed, .refused, .unknownScript, .wrongServer: "\(server) refuses \(call) (\(error.sentence))"
    }
  }
}
