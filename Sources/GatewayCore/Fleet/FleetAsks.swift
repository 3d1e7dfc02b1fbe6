/// Which acknowledgements the server is asked for in one conversation of the holder, and for which calls; and the durable
/// sends that were written and have no outcome yet.
struct FleetAsks {
  /// An acknowledgement that is awaited.
  struct Ask: Equatable {
    var sender: FleetSender
    /// The host's own number of it, in its life.
    var id: UInt64
    /// The life of its host is over.
    var isOver = false

    fileprivate var isLive: Bool { sender.life != nil && !isOver }
    fileprivate func isOf(_ host: String) -> Bool { sender.hostName == host }
  }

  /// A durable send that was written and has no outcome yet.
  private struct UnderWay {
    /// The acknowledgements that are awaited of it.
    var numbers: [UInt64] = []
    /// Those who said it in another life or under another name, and await whichever of these comes.
    var others: [Ask] = []
  }

  /// How far a durable send is that has no outcome.
  enum Progress {
    case notWritten
    /// It was written, and no host that lives awaits an acknowledgement of it.
    case written
    /// It was written, and a host that lives awaits an acknowledgement, and has it written again by itself.
    case awaited
  }

  /// What is awaited no more.
  struct Over: Equatable {
    /// Acknowledgements, by the numbers that the server knows.
    var numbers: [UInt64] = []
    /// Durable sends of which no host that lives awaits an acknowledgement any more, by their ids; one may be named twice.
    var sends: [String] = []
  }

  /// By the numbers that the server knows.
  private var asks = IncrementalTable<UInt64, Ask>()
  private var lastNumber = FleetTap.firstNumber
  /// These numbers for each host in its present life, by its own ones; of a durable send any one of them.
  private var numbers: [String: [UInt64: UInt64]] = [:]
  /// By their ids.
  private var underWay = IncrementalTable<String, UnderWay>()

  var isEmpty: Bool { asks.isEmpty && underWay.isEmpty }

  /// Forgets some, of which nobody awaits anything any more: as many as one turn has time for.
  mutating func dropPortion() { _ = (asks.popPiece(), underWay.popPiece()) }

  /// What is awaited under a number.
  subscript(number: UInt64) -> Ask? { asks[number] }

  /// How far a durable send is, by its id.
  func progress(of id: String) -> Progress {
    guard let send = underWay[id] else { return .notWritten }
    let isAwaited = send.others.contains { $0.isLive } || send.numbers.contains { asks[$0]?.isLive == true }
    return isAwaited ? .awaited : .written
  }

  /// Who else awaits what is awaited of a durable send.
  func others(than ask: Ask) -> [Ask] {
    ask.sender.sendID.flatMap { underWay[$0] }?.others.filter { $0 != ask } ?? []
  }

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
      asks[next] = Ask(sender: sender, id: ack)
      note(next, for: sender, ack)
      number = next
    }
    if let id = sender.sendID {
      var send = underWay[id] ?? UnderWay()
      if let number { send.numbers.append(number) }
      underWay[id] = send
    }
    return number
  }

  /// A durable send is said once more. Returns whether it is under way for the fleet, or for another life or another name of
  /// its host: then its sender awaits what becomes of it too. In the same life it is a retry, where an acknowledgement is
  /// awaited.
  mutating func takeOver(_ sender: FleetSender, ack: UInt64?) -> Bool {
    guard let id = sender.sendID, var send = underWay[id] else { return false }
    guard let ack else { return true }
    // An answer to what is not awaited any more would not be heard.
    guard let host = sender.hostName, let first = send.numbers.first, !isAwaited(send, by: sender) else { return false }
    let ask = Ask(sender: sender, id: ack)
    send.others.removeAll { $0.isOf(host) }
    send.others.append(ask)
    for number in send.numbers {
      if let last = asks[number], last.sender.life == nil || last.isOf(host) { asks[number] = ask }
    }
    note(first, for: sender, ack)
    underWay[id] = send
    return true
  }

  /// Whether the present life of a host awaits it already.
  private func isAwaited(_ send: UnderWay, by sender: FleetSender) -> Bool {
    func isSame(_ ask: Ask) -> Bool { ask.sender.hostName == sender.hostName && ask.sender.life == sender.life }
    return send.others.contains(where: isSame) || send.numbers.contains { asks[$0].map(isSame) ?? false }
  }

  private mutating func note(_ number: UInt64, for sender: FleetSender, _ ack: UInt64) {
    if case .host(let host, _, _, _) = sender { numbers[host, default: [:]][ack] = number }
  }

  private mutating func unnote(_ ack: UInt64, of host: String) -> UInt64? {
    let number = numbers[host]?.removeValue(forKey: ack)
    if numbers[host]?.isEmpty == true { numbers[host] = nil }
    return number
  }

  /// What was awaited under a number, which is over.
  mutating func take(_ number: UInt64) -> Ask? {
    guard let ask = asks.removeValue(forKey: number) else { return nil }
    if let host = ask.sender.hostName, numbers[host]?[ask.id] == number { _ = unnote(ask.id, of: host) }
    return ask
  }

  /// A host does not await an acknowledgement any more, by its own number of it.
  mutating func forget(_ ack: UInt64, of host: String) -> Over {
    guard let number = unnote(ack, of: host), let ask = asks[number] else { return Over() }
    guard let id = ask.sender.sendID, var send = underWay[id] else {
      asks[number] = nil
      return Over(numbers: [number])
    }
    var over = Over()
    send.others.removeAll { $0.isOf(host) && $0.id == ack }
    for number in send.numbers {
      guard let ask = asks[number], ask.isOf(host), ask.id == ack else { continue }
      asks[number] = send.others.first
      if send.others.isEmpty { over.numbers.append(number) }
    }
    send.numbers.removeAll { over.numbers.contains($0) }
    underWay[id] = send.numbers.isEmpty ? nil : send
    if progress(of: id) != .awaited { over.sends = [id] }
    return over
  }

  /// A durable send has its outcome, which all who await it are told. Returns the numbers of other acknowledgements of it,
  /// which nobody awaits any more.
  mutating func finish(_ id: String) -> [UInt64] {
    guard let send = underWay.removeValue(forKey: id) else { return [] }
    for ask in send.others where !ask.isOver { _ = ask.sender.hostName.map { unnote(ask.id, of: $0) } }
    let over = send.numbers.filter { number in
      asks[number].map { !$0.isLive || send.others.contains($0) } ?? false
    }
    for number in over { _ = take(number) }
    return over
  }

  /// A host has another life: what it awaited in the last one is over. Its durable sends stay under way.
  mutating func abandon(_ host: String) -> Over {
    guard let last = numbers.removeValue(forKey: host) else { return Over() }
    var over = Over()
    for number in last.values {
      guard let ask = asks[number] else { continue }
      guard let id = ask.sender.sendID else {
        asks[number] = nil
        over.numbers.append(number)
        continue
      }
      endLife(of: host, in: id)
      if progress(of: id) == .written { over.sends.append(id) }
    }
    return over
  }

  private mutating func endLife(of host: String, in id: String) {
    guard var send = underWay[id] else { return }
    for place in send.others.indices where send.others[place].isOf(host) { send.others[place].isOver = true }
    underWay[id] = send
    for number in send.numbers where asks[number]?.isOf(host) == true { asks[number]?.isOver = true }
  }
}
