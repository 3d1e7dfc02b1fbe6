/// What became of what a host sent: the reply to it, and its rows.
struct FleetDone: FleetStep {
  static let name = FleetStepName.done
  var place: FleetPlace
  var own: FleetOwn
  /// Whose sends and calls they are.
  var host: String
  /// The reply and its place; nil tells nothing.
  var reply: FleetRecord?
  /// Of durable sends, by their rows' names. One that was adopted is its host's again then: that may not change the fleet's.
  var outcomes: [String: FleetBoxRow] = [:]

  var keys: [FleetKey] {
    [
      place.key(.lease), place.key(.replies(host: host)), place.key(.box(host: host)), place.key(.adopted),
    ]
  }
  var arguments: [[UInt8]] {
    var told = [
      Array(own.text.utf8), Array((reply?.position.description ?? "").utf8), reply?.fields.packed ?? [],
      Array(host.utf8),
    ]
    for (name, row) in outcomes.sorted(by: { $0.key < $1.key }) {
      told.append(Array(name.utf8))
      told.append(row.bytes)
    }
    return told
  }
  /// Whether the reply was added; false where its place was taken.
  static func result(_ reply: FleetReply) -> Bool? { number(reply).map { $0 == 1 } }
}

/// The sends of a host that is silent become the fleet's, and with them its life ends.
struct FleetAdopt: FleetStep {
  static let name = FleetStepName.adopt
  var place: FleetPlace
  var own: FleetOwn
  var host: String
  /// What was seen of it.
  var life: UInt64
  var beat: UInt64

  var keys: [FleetKey] {
    [place.key(.lease), place.key(.box(host: host)), place.key(.adopted), place.key(.hosts)]
  }
  var arguments: [[UInt8]] { Array(texts: own.text, host, String(life), String(beat)) }

  /// Nil: it was heard of meanwhile.
  static func result(_ reply: FleetReply) -> FleetAdopted?? {
    if case .null = reply { return .some(nil) }
    guard case .array(let parts) = reply, parts.count == 2, let life = number(parts[0]), let rows = number(parts[1])
    else { return nil }
    return FleetAdopted(life: life, rows: Int(rows))
  }
}

/// How a host was adopted.
struct FleetAdopted: Equatable, Sendable {
  /// What it would have to join behind.
  var life: UInt64
  /// How many of its sends are the fleet's now.
  var rows: Int
}

/// A host begins a life.
struct FleetJoin: FleetStep {
  static let name = FleetStepName.join
  var place: FleetPlace
  var host: String
  /// Its last one, as far as it knows; 0 for none.
  var life: UInt64
  var details: FleetHostDetails

  var keys: [FleetKey] { [place.key(.hosts), place.key(.box(host: host))] }
  var arguments: [[UInt8]] { Array(texts: host, String(life)) + [details.fields.packed] }

  static func result(_ reply: FleetReply) -> FleetJoined? {
    guard case .array(let parts) = reply, let first = parts.first, let life = number(first) else { return nil }
    return FleetNames(parts, from: 1).map { FleetJoined(life: life, names: $0) }
  }
}

/// What a host begins its life with.
struct FleetJoined: Equatable, Sendable {
  var life: UInt64
  /// The names of the rows that are in its box.
  var names: FleetNames
}

/// A host lives.
struct FleetAlive: FleetStep {
  static let name = FleetStepName.alive
  var place: FleetPlace
  var host: String
  var life: UInt64
  var details: FleetHostDetails

  var keys: [FleetKey] { [place.key(.hosts)] }
  var arguments: [[UInt8]] { Array(texts: host, String(life)) + [details.fields.packed] }
  static func result(_ reply: FleetReply) -> UInt64? { number(reply) }
}

/// A durable send is kept.
struct FleetPut: FleetStep {
  static let name = FleetStepName.put
  var place: FleetPlace
  var host: String
  var life: UInt64
  /// Of the row: unique for all time.
  var name: String
  var row: FleetBoxRow

  var keys: [FleetKey] { [place.key(.hosts), place.key(.box(host: host))] }
  var arguments: [[UInt8]] { Array(texts: host, String(life), name) + [row.bytes] }
  static func result(_ reply: FleetReply) -> Bool? { number(reply).map { $0 == 1 } }
}

/// Where durable sends of a host are: in its box or not, and what became of them. What has no outcome is not read.
struct FleetFind: FleetStep {
  static let name = FleetStepName.find
  var place: FleetPlace
  var host: String
  var life: UInt64
  /// Of the rows.
  var names: [String]

  var keys: [FleetKey] { [place.key(.hosts), place.key(.box(host: host))] }
  var arguments: [[UInt8]] { Array(texts: host, String(life)) + names.map { Array($0.utf8) } }

  static func result(_ reply: FleetReply) -> [FleetFound]? {
    guard case .array(let rows) = reply else { return nil }
    let found = rows.compactMap(found)
    return found.count == rows.count ? found : nil
  }

  private static func found(_ reply: FleetReply) -> FleetFound? {
    switch reply {
    case .null: .missing
    case .bytes(let bytes):
      switch FleetBoxRow(bytes) {
      case .waiting?: .waiting
      case .withheld?: .withheld
      case .finished(let fields)?: .finished(fields)
      // Nothing that a host has put.
      case nil: .missing
      }
    case .integer, .array: nil
    }
  }
}

/// What a box has of a send.
enum FleetFound: Equatable, Sendable {
  case missing, waiting, withheld
  case finished(FleetFields)
}

/// A host that is gone for good is forgotten, unless something of it is still needed.
struct FleetForget: FleetStep {
  static let name = FleetStepName.forget
  var place: FleetPlace
  var host: String
  /// It is only looked whether it can be.
  var isTrial = false

  var keys: [FleetKey] {
    [
      place.key(.hosts), place.key(.lease), place.key(.box(host: host)), place.key(.replies(host: host)),
      place.key(.adopted),
    ]
  }
  var arguments: [[UInt8]] { Array(texts: host, isTrial ? "" : "1") }

  static func result(_ reply: FleetReply) -> FleetForgotten? {
    guard case .array(let parts) = reply, parts.count == 2, let word = text(parts[0]), let count = number(parts[1])
    else { return nil }
    switch word {
    case "forgotten": return .forgotten
    case "unknown": return .unknown
    case "holds": return .holds
    case "lives": return .lives
    case "waits": return .waits(Int(count))
    case "left": return .left(Int(count))
    default: return nil
    }
  }
}

/// What became of an order to forget a host.
enum FleetForgotten: Equatable, Sendable {
  /// Nothing of it is there, or will be.
  case forgotten
  /// Nothing of it was there.
  case unknown
  /// It has the lease, or had it last.
  case holds
  /// It was not taken for dead, or has come back.
  case lives
  /// So many of its sends are the fleet's, which has to write them.
  case waits(Int)
  /// So many of its sends are in its box, though it has no row, or because no host may write them: no other host does.
  case left(Int)
}

/// A row of a box: a send that waits, or what became of one.
enum FleetBoxRow: Equatable, Sendable {
  case waiting(FleetFields)
  /// A send that its sender may not send for now: it stays its host's, whatever becomes of that.
  case withheld(FleetFields)
  case finished(FleetFields)

  /// Bytes of its names and values.
  var byteCount: Int {
    switch self {
    case .waiting(let fields), .withheld(let fields), .finished(let fields): fields.byteCount
    }
  }

  /// The first byte says which it is.
  var bytes: [UInt8] {
    switch self {
    case .waiting(let fields): [UInt8(ascii: "+")] + fields.packed
    case .withheld(let fields): [UInt8(ascii: "-")] + fields.packed
    case .finished(let fields): [UInt8(ascii: "=")] + fields.packed
    }
  }

  init?(_ bytes: [UInt8]) {
    guard let fields = FleetFields(packed: bytes.dropFirst()) else { return nil }
    switch bytes.first {
    case UInt8(ascii: "+"): self = .waiting(fields)
    case UInt8(ascii: "-"): self = .withheld(fields)
    case UInt8(ascii: "="): self = .finished(fields)
    default: return nil
    }
  }
}

/// What a host says of itself.
struct FleetHostDetails: Equatable, Sendable {
  /// The version of what it speaks.
  var version: UInt64 = 1
  var mayHold = true
  /// It is to hold rather than others.
  var prefers = false
  /// It has given the lease away a moment ago, because it did not reach the server.
  var isReluctant = false
  /// Its process has ended in order, or shares the upstream no longer: it says nothing more. Such a host may not hold.
  var isStopped = false
  /// It says that it lives when it is asked.
  var answers = false
  /// Its programs do not use the upstream in that namespace, which its configuration does not name: it takes part for other
  /// hosts alone.
  var isIdle = false
  /// The version of its gatewayd, for people; empty where it says none.
  var release = ""
  /// Which process it is: another one of the same name has another; empty where it says none.
  var instance = ""
  /// What it has to have like the others.
  var agreement = FleetAgreement()

  var fields: FleetFields {
    var fields = FleetFields()
    fields.add("v", version)
    fields.add("m", if: mayHold)
    fields.add("p", if: prefers)
    fields.add("y", if: isReluctant)
    fields.add("s", if: isStopped)
    fields.add("a", if: answers)
    fields.add("n", if: isIdle)
    // Daemons of before take no row without it.
    fields.add("r", FleetPosition.start.description)
    if !release.isEmpty { fields.add("g", release) }
    if !instance.isEmpty { fields.add("i", instance) }
    if agreement != FleetAgreement() { fields.add("d", agreement.text) }
    return fields
  }

  init(version: UInt64 = 1, mayHold: Bool = true) {
    self.version = version
    self.mayHold = mayHold
  }

  init?(_ fields: FleetFields) {
    guard let version = fields.number("v") else { return nil }
    self.init(version: version, mayHold: fields.has("m"))
    (release, instance) = (fields.text("g") ?? "", fields.text("i") ?? "")
    agreement = FleetAgreement(fields.text("d") ?? "")
    (prefers, isReluctant, isStopped) = (fields.has("p"), fields.has("y"), fields.has("s"))
    (answers, isIdle) = (fields.has("a"), fields.has("n"))
  }
}

/// A row of `hosts`.
struct FleetHostRow: Equatable, Sendable {
  var life: UInt64
  /// How often it has said that it lives; nil for a host that was adopted and has not come back.
  var beat: UInt64?
  var details: FleetHostDetails

  /// What stands in place of the beat of an adopted host.
  static let adopted = "-"

  /// Bytes of the longest row that a host writes, and some more.
  static let limit = 4_096
  /// Lives are numbered by the clock, in milliseconds: no host gives a higher number.
  static let lifeLimit: UInt64 = 4_000_000_000_000_000

  /// From `LIFE:BEAT:DETAILS`.
  init?(_ bytes: [UInt8]) {
    guard bytes.count <= Self.limit else { return nil }
    let parts = bytes.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let life = UInt64(String(decoding: parts[0], as: UTF8.self)), life <= Self.lifeLimit,
      let fields = FleetFields(packed: parts[2]), let details = FleetHostDetails(fields)
    else { return nil }
    let beat = String(decoding: parts[1], as: UTF8.self)
    guard UInt64(beat) != nil || beat == Self.adopted else { return nil }
    (self.life, self.beat, self.details) = (life, UInt64(beat), details)
  }

  var isAdopted: Bool { beat == nil }
}
