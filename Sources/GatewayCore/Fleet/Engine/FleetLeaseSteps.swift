/// Takes the lease, if it still is as it was seen.
struct FleetTake: FleetStep {
  static let name = FleetStepName.take
  var place: FleetPlace
  var host: String
  /// What the lease was seen as; empty where there was none.
  var seen: FleetSight
  /// Which server is asked.
  var run: String
  /// The highest that the caller has seen of each, for a server that has forgotten.
  var conversation: UInt64 = 0
  var sequence: UInt64 = 0
  var term: UInt64 = 0
  /// The lease has not changed for so long that it counts for nothing who is to have it next.
  var isLate = false
  /// When the term begins by this host's clock, in milliseconds since 1970.
  var since: UInt64 = 0

  var keys: [FleetKey] { [place.key(.lease), place.key(.events)] }
  var arguments: [[UInt8]] {
    Array(
      texts: host, seen.own, seen.beat, run, String(conversation), String(sequence), String(term), isLate ? "1" : "",
      String(since))
  }

  /// Nil: another host was faster.
  static func result(_ reply: FleetReply) -> FleetTaken?? {
    if case .null = reply { return .some(nil) }
    guard case .array(let parts) = reply, parts.count == 7, let term = number(parts[0]),
      let conversation = number(parts[1]), let sequence = number(parts[2]), let epoch = text(parts[3]),
      let offset = text(parts[4]), let session = text(parts[5]), let isSameRun = number(parts[6])
    else { return nil }
    return FleetTaken(
      term: term, conversation: conversation, sequence: sequence, epoch: epoch,
      resumption: session.isEmpty || offset.isEmpty ? nil : Resumption(session: session, offset: offset),
      isSameRun: isSameRun == 1)
  }
}

/// A lease as one host saw it: as long as it stays equal, no holder has kept it alive.
struct FleetSight: Hashable, Sendable {
  /// `TERM@HOST`, as the lease has it; empty where there is none.
  var own = ""
  var beat = ""
}

/// What a new holder begins with.
struct FleetTaken: Equatable, Sendable {
  var term: UInt64
  /// The number of the marker that says it.
  var conversation: UInt64
  /// The number of the last event.
  var sequence: UInt64
  /// Empty where there was none.
  var epoch: String
  /// What the server may recover from.
  var resumption: Resumption?
  /// The engine's server is the one that the holder before had.
  var isSameRun: Bool
}

/// The holder lives, and says what its fleet has agreed upon.
struct FleetBeat: FleetStep {
  static let name = FleetStepName.beat
  var place: FleetPlace
  var own: FleetOwn
  /// The version that the fleet is to speak.
  var version: UInt64 = 1
  var agreement = FleetAgreement()
  /// The number of the last event.
  var sequence: UInt64 = 0
  /// Nil where it is not known yet.
  var census: FleetCensus?
  /// Why there is no link to the server; nil where there is one, or none is known.
  var trouble: FleetTrouble?
  /// The engine's server.
  var run = ""

  var keys: [FleetKey] { [place.key(.lease), place.key(.up)] }
  var arguments: [[UInt8]] {
    Array(
      texts: own.text, String(version), agreement.text, String(sequence), census.map { String($0.living) } ?? "",
      census.map { String($0.willing) } ?? "", census?.prefers == true ? "1" : "")
      + [trouble?.bytes ?? [], Array(run.utf8)]
  }
  static func result(_ reply: FleetReply) -> FleetBeaten? {
    guard case .array(let parts) = reply, parts.count == 3, let beat = number(parts[0]), let next = text(parts[1]),
      let up = text(parts[2])
    else { return nil }
    return FleetBeaten(beat: beat, next: next, up: FleetPosition(up))
  }
}

/// What the holder has counted among the hosts.
struct FleetCensus: Equatable, Sendable {
  /// Those that have neither been adopted nor stopped.
  var living: Int
  /// Those that would take the lease.
  var willing = 0
  /// Some of these prefer to.
  var prefers = false
}

/// Why the holder has no link to the server, as the others are told. It names its term: a holder of an earlier version
/// leaves what the one before it said.
struct FleetTrouble: Equatable, Sendable {
  var own: FleetOwn
  var reason: DownReason
  /// A sentence for people.
  var detail: String
  /// HTTP status or WebSocket close code, where there is one.
  var status: Int?
  /// What the server itself has said, where it refuses the connection.
  var words = FleetServerWords()

  /// What is told of a sentence, in bytes, and how long the whole may be that is read.
  private static let detailLimit = 1 << 10
  private static let limit = 4 << 10

  init(_ failure: UpstreamFailure, of own: FleetOwn) {
    (self.own, reason, status) = (own, failure.reason, failure.status)
    detail = failure.forOtherHosts.detail.shortened(to: Self.detailLimit)
    words = FleetServerWords(failure)
  }

  /// Nil for what no holder writes.
  init?(_ bytes: [UInt8]) {
    guard bytes.count <= Self.limit, let fields = FleetFields(packed: bytes),
      let own = fields.text("o").flatMap({ FleetOwn($0) }), let reason = fields.text("r"),
      let detail = fields.text("d")
    else { return nil }
    (self.own, self.detail) = (own, detail.shortened(to: Self.detailLimit))
    self.reason = DownReason(rawValue: reason) ?? .fleet
    status = fields.number("s").map { Int(clamping: $0) }
    words = FleetServerWords(fields)
  }

  /// `o` own, `r` reason, `d` detail, `s` status, and those of `FleetServerWords`. Hosts of before read the first three.
  var bytes: [UInt8] {
    var fields = FleetFields()
    fields.add("o", own.text)
    fields.add("r", reason.rawValue)
    fields.add("d", detail)
    if let status { fields.add("s", UInt64(max(0, status))) }
    words.add(to: &fields)
    return fields.packed
  }

  /// As another host shows it.
  var failure: UpstreamFailure {
    UpstreamFailure(
      reason, "\(own.host), which has the fleet's link, is not connected: \(detail)", status: status,
      serverMessage: words.message, serverData: words.data)
  }
}

/// What a holder hears with a beat.
struct FleetBeaten: Equatable, Sendable {
  var beat: UInt64
  /// The host that is to have the lease next, `*` for any other; empty where it is to stay.
  var next = ""
  /// The last position of `up`; nil where the engine does not say.
  var up: FleetPosition? = .start
}

/// The lease is to go to another host: its holder hears it with its next beat, and gives it back. Or hosts are asked first
/// whether they live.
struct FleetMove: FleetStep {
  static let name = FleetStepName.move
  var place: FleetPlace
  /// The term that is to end.
  var own: FleetOwn
  /// The host that alone may take it; nil: any other.
  var host: String?
  /// It is not to go yet: who could have it is to say that it lives.
  var isQuestion = false

  var keys: [FleetKey] { [place.key(.lease)] }
  var arguments: [[UInt8]] { Array(texts: own.text, host ?? "*", isQuestion ? "1" : "") }
  static func result(_ reply: FleetReply) -> Bool? { number(reply).map { $0 > 0 } }
}

/// The holder leaves in order: another host may take the lease at once.
struct FleetRelease: FleetStep {
  static let name = FleetStepName.release
  var place: FleetPlace
  var own: FleetOwn

  var keys: [FleetKey] { [place.key(.lease)] }
  var arguments: [[UInt8]] { Array(texts: own.text) }
  static func result(_ reply: FleetReply) -> Bool? { number(reply).map { $0 == 1 } }
}

/// A conversation with the server has begun.
struct FleetOpen: FleetStep {
  static let name = FleetStepName.open
  var place: FleetPlace
  var own: FleetOwn
  var run: String
  var epoch: String
  /// The number of the last event.
  var sequence: UInt64
  /// Empty where the server names none.
  var offset = ""
  var session = ""
  /// How many share what the server takes at once.
  var hosts = 1

  var keys: [FleetKey] { [place.key(.lease), place.key(.events), place.key(.up)] }
  var arguments: [[UInt8]] { Array(texts: own.text, run, epoch, String(sequence), offset, session, String(hosts)) }

  static func result(_ reply: FleetReply) -> FleetOpened? {
    guard case .array(let parts) = reply, parts.count == 2, let conversation = number(parts[0]),
      let up = text(parts[1]).flatMap({ FleetPosition($0) })
    else { return nil }
    return FleetOpened(conversation: conversation, up: up)
  }
}

/// A conversation that hosts can take part in.
struct FleetOpened: Equatable, Sendable {
  var conversation: UInt64
  /// What stands in `up` until here belongs to earlier ones.
  var up: FleetPosition
}

/// The conversation with the server has ended.
struct FleetDown: FleetStep {
  static let name = FleetStepName.down
  var place: FleetPlace
  var own: FleetOwn
  var epoch: String
  /// The number of the last event.
  var sequence: UInt64
  var offset = ""
  var reason: String
  /// A sentence for people.
  var detail: String
  /// The conversation that is over, where each host was told how far its calls were written.
  var settled: UInt64?

  var keys: [FleetKey] { [place.key(.lease), place.key(.events)] }
  var arguments: [[UInt8]] {
    Array(texts: own.text, epoch, String(sequence), offset, reason, detail, settled.map { String($0) } ?? "")
  }
  /// The number of the marker.
  static func result(_ reply: FleetReply) -> UInt64? { number(reply) }
}

extension FleetDown {
  /// - Parameter end: why the conversation has ended.
  init(
    place: FleetPlace, own: FleetOwn, epoch: String, sequence: UInt64, offset: String, end: UpstreamFailure,
    settled: UInt64?
  ) {
    self.init(
      place: place, own: own, epoch: epoch, sequence: sequence, offset: offset, reason: end.reason.rawValue,
      detail: end.forOtherHosts.detail, settled: settled)
  }
}

/// The lease of an upstream as the engine has it.
struct FleetLeaseRecord: Equatable, Sendable {
  var sight = FleetSight()
  /// Nil where there never was one; empty where it was given back.
  var holder: String?
  /// The host that is to take it next, `*` for any other than the present one; empty where nobody has said so.
  var next = ""
  /// How often hosts were asked whether they live, and which was asked last; `*` for any that may hold.
  var asks: UInt64 = 0
  var asked = ""
  /// When the term began by the clock of its holder, in milliseconds since 1970.
  var since: UInt64?
  var conversation: UInt64 = 0
  /// The server of the engine that the holder's last beat, or the taking, was said to.
  var server: String?
  /// A conversation with the server is open.
  var isOpen = false
  var epoch = ""
  /// The number of the last event at the holder's last beat.
  var sequence: UInt64 = 0
  /// The version that the fleet speaks, and what its hosts have agreed upon, as the holder says.
  var version: UInt64?
  var agreement = FleetAgreement()
  /// How many hosts live, and how many of these would take the lease, as the holder says; nil where it never has.
  var hosts: UInt64?
  var willing: UInt64?
  /// Some of these prefer to.
  var isPreferred = false
  /// Why the holder has no link to the server; nil where it has one, or has not said why.
  var trouble: FleetTrouble?

  /// The last term.
  var own: FleetOwn? { FleetOwn(sight.own) }

  /// How often the holder has beaten since then, in the same term; nil where it has not.
  func beats(since last: Self) -> UInt16? {
    guard let beat = UInt64(sight.beat), let before = UInt64(last.sight.beat), beat >= before else { return nil }
    return UInt16(clamping: beat - before)
  }

  init(_ rows: [String: [UInt8]]) {
    func text(_ name: String) -> String? { rows[name].map { String(decoding: $0, as: UTF8.self) } }
    func number(_ name: String) -> UInt64? { text(name).flatMap { UInt64($0) } }
    sight = FleetSight(own: text("own") ?? "", beat: text("beat") ?? "")
    (holder, next, since, server) = (text("holder"), text("next") ?? "", number("since"), text("at"))
    (conversation, isOpen) = (number("c") ?? 0, text("open") == "1")
    (epoch, sequence, version) = (text("epoch") ?? "", number("seq") ?? 0, number("v"))
    (agreement, hosts) = (FleetAgreement(text("config") ?? ""), number("hosts"))
    (asks, asked) = (number("asks") ?? 0, text("ask") ?? "")
    (willing, isPreferred) = (number("may"), text("prefer") == "1")
    if holder?.isEmpty == false, let trouble = rows["why"].flatMap({ FleetTrouble($0) }), trouble.own == own {
      self.trouble = trouble
    }
  }
}
