/// Which acknowledgements the server is asked for in one conversation of the holder, and for which calls; and the durable
/// sends that were written and have no outcome yet.
struct FleetAsks {
  /// An acknowledgement that is awaited.
  struct Ask: Equatable {
    var sender: FleetSender
    /// The host's own number of it, in its life.
    var id: UInt64
  }

  /// A durable send that was written and has no outcome yet.
  private struct UnderWay {
    /// The sender that had it written last.
    var sender: FleetSender
    /// The acknowledgements that are awaited of it.
    var numbers: [UInt64] = []
  }

  /// By the numbers that the server knows.
  private var asks: [UInt64: Ask] = [:]
  private var lastNumber = FleetTap.firstNumber
  /// These numbers for each host in its present life, by its own ones.
  private var numbers: [String: [UInt64: UInt64]] = [:]
  /// By their ids.
  private var underWay: [String: UnderWay] = [:]

  /// What is awaited under a number.
  subscript(number: UInt64) -> Ask? { asks[number] }

  /// Whether a durable send was written and has no outcome yet, by its id.
  func isUnderWay(_ id: String) -> Bool { underWay[id] != nil }

  /// A number under which nothing is awaited.
  mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// A message is about to be written. Returns the number by which the server is to acknowledge it; nil where the sender
  /// has none, and awaits nothing.
  mutating func begin(_ sender: FleetSender, ack: UInt64?) -> UInt64? {
    var number: UInt64?
    if let ack {
      let next = nextNumber()
      expect(next, Ask(sender: sender, id: ack))
      number = next
    }
    if let id = sender.sendID {
      underWay[id, default: UnderWay(sender: sender)].sender = sender
      if let number { underWay[id]?.numbers.append(number) }
    }
    return number
  }

  /// A durable send is said once more. Returns whether it is under way for another life of its host, or for the fleet: then
  /// its sender awaits what becomes of it. In the same life it is a retry, where an acknowledgement is awaited.
  mutating func takeOver(_ sender: FleetSender, ack: UInt64?) -> Bool {
    guard let id = sender.sendID, var present = underWay[id] else { return false }
    if let ack {
      // An answer to what is not awaited any more would not be heard.
      guard present.sender.life != sender.life, !present.numbers.isEmpty else { return false }
      for number in present.numbers { expect(number, Ask(sender: sender, id: ack)) }
    }
    present.sender = sender
    underWay[id] = present
    return true
  }

  private mutating func expect(_ number: UInt64, _ ask: Ask) {
    asks[number] = ask
    if case .host(let host, _, _, _) = ask.sender { numbers[host, default: [:]][ask.id] = number }
  }

  /// What was awaited under a number, which is over.
  mutating func take(_ number: UInt64) -> Ask? {
    guard let ask = asks.removeValue(forKey: number) else { return nil }
    if case .host(let host, _, _, _) = ask.sender, numbers[host]?[ask.id] == number {
      numbers[host]?[ask.id] = nil
      if numbers[host]?.isEmpty == true { numbers[host] = nil }
    }
    return ask
  }

  /// A host does not await an acknowledgement any more, by its own number of it. Returns the number that the server knows.
  mutating func forget(_ id: UInt64, of host: String) -> UInt64? {
    guard let number = numbers[host]?[id], let ask = take(number) else { return nil }
    if let id = ask.sender.sendID {
      underWay[id]?.numbers.removeAll { $0 == number }
      if underWay[id]?.numbers.isEmpty == true { underWay[id] = nil }
    }
    return number
  }

  /// A durable send has its outcome, or none that is awaited.
  mutating func finish(_ id: String) { underWay[id] = nil }

  /// A host has another life: what it awaited in the last one is over, but for its durable sends. Returns the numbers that
  /// the server knows.
  mutating func abandon(_ host: String) -> [UInt64] {
    guard let last = numbers.removeValue(forKey: host) else { return [] }
    let over = last.values.filter { number in asks[number].map { $0.sender.sendID == nil } ?? false }
    for number in over { asks[number] = nil }
    return over
  }
}
