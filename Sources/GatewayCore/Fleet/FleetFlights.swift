/// What one channel of a host has said in a conversation and the holder has not confirmed. It is written again on every
/// new connection to the engine, before anything new; the numbers make that harmless.
struct FleetFlights {
  private var flights = SizedRing<FleetUpEntry>()
  /// The number of the last one that was confirmed.
  private(set) var confirmed: UInt64 = 0
  /// The number of the last one.
  private(set) var last: UInt64 = 0

  init() {}

  var count: Int { flights.count }
  /// Bytes of what is not confirmed.
  var bytes: Int { flights.bytes }
  var first: FleetUpEntry? { flights.first }
  var newest: FleetUpEntry? { flights.look(flights.count - 1) { $0 } }

  /// Looks at those behind a number, in their order, for as long as `takes` says so, which is told what the next one counts.
  /// Returns the number of the next one; nil where there is none.
  func look(behind number: UInt64, while takes: (Int) -> Bool, _ look: (FleetUpEntry) -> Void) -> UInt64? {
    // They are numbered from 1 on, one after the other.
    flights.look(from: Int(clamping: number), while: takes, look).map { UInt64($0) + 1 }
  }

  /// The call of a number; nil where it is confirmed, or was never said.
  subscript(number: UInt64) -> FleetUpEntry.Call? {
    // They are numbered one after the other.
    guard let first = flights.look(0, { $0.number }), number >= first, number - first < UInt64(flights.count) else {
      return nil
    }
    return flights.look(Int(number - first)) { $0.call }
  }

  /// Gives a call the next number.
  mutating func add(_ call: FleetUpEntry.Call, as part: FleetSpeech.Part) -> FleetUpEntry {
    last += 1
    let entry = FleetUpEntry(
      host: part.host, life: part.life, conversation: part.conversation, number: last, call: call)
    flights.append(entry, bytes: call.byteCount)
    return entry
  }

  /// All up to that number are confirmed.
  mutating func confirm(upTo number: UInt64) {
    confirmed = max(confirmed, number)
    while let first = flights.look(0, { $0.number }), first <= number { flights.popFirst() }
  }
}

extension FleetUpEntry.Call {
  /// What it counts in the limits of a link.
  var byteCount: Int {
    switch self {
    case .write(let message, _, _), .answer(_, let message): message.byteCount
    case .enter(let message, _, let leave): message.byteCount + (leave?.message.byteCount ?? 0)
    case .leave(let leave, let entered): entered.byteCount + (leave?.message.byteCount ?? 0)
    case .decline, .forget, .want, .drop: 0
    }
  }
}
