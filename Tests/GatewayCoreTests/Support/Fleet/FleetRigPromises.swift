@testable import GatewayCore

/// The table of promises.
extension FleetRig {
  func check() {
    checkEnds()
    checkCopies()
    checkSenders()
    checkOrder()
    checkEvents()
    if options.recovers { checkRecovery() }
  }

  /// A server that recovers sessions, and an engine that forgets nothing: each event is heard by every host, in one epoch.
  private func checkRecovery() {
    if gaps > 0 { problems.append("there are \(gaps) gaps") }
    let epochs = Set(contents.keys.compactMap { $0.split(separator: "/").first })
    if epochs.count > 1 { problems.append("there are \(epochs.count) epochs") }
    for host in hosts where lastHeard(host) != server.said {
      problems.append("\(host.name) heard \(lastHeard(host)) at last, and the server said \(server.said)")
    }
  }

  /// What a host passed over no other host has heard either, unless the store has lost something.
  private func checkEvents() {
    guard !faults.contains(.failOver), !faults.contains(.replace), !faults.contains(.flush) else { return }
    for gap in passed {
      for sequence in gap.range where contents["\(gap.epoch)/\(sequence)"] != nil {
        problems.append("\(gap.host) passed over \(gap.epoch)/\(sequence), which exists")
      }
    }
  }

  private func checkEnds() {
    for host in hosts where !host.program.isIdle { problems.append("\(host.name) is not idle: \(host.program.state)") }
    if !problems.isEmpty { problems.append(standing) }
    let arrived = Set(server.arrivals.map(\.message))
    for message in stored.subtracting(arrived).sorted(by: { $0.number < $1.number }) {
      problems.append("\(message) is lost")
    }
  }

  private func checkCopies() {
    var counts: [FleetRigMessage: Int] = [:]
    for arrival in server.arrivals { counts[arrival.message, default: 0] += 1 }
    for (message, count) in counts where count > 1 && !message.sort.isDurable {
      problems.append("\(message) arrived \(count) times")
    }
    var links: Set<[String]> = []
    for arrival in server.arrivals where !links.insert(["\(arrival.message)", "\(arrival.link)"]).inserted {
      problems.append("\(arrival.message) arrived twice on link \(arrival.link)")
    }
    for (message, told) in outcomes {
      // A row whose host died before it removed it is found again.
      if told.count > 1, !message.sort.isDurable { problems.append("\(message) ended \(told.count) times") }
      if told.first == .finished, counts[message] == nil {
        problems.append("\(message) is told as sent, and did not arrive")
      }
    }
  }

  /// No message was decided upon while a later term was sending, and none arrived behind one of a later term, but for a
  /// process that was stopped between the two. A failover may undo a term, and a host that has seen none begins anew, when
  /// the holder of before has noticed the loss: neither of them comes back.
  private func checkSenders() {
    for arrival in behindOthers(server.arrivals.sorted { $0.decided < $1.decided }) {
      problems.append("\(arrival.message) was written in term \(arrival.term) after another")
    }
    if options.stop == nil { problems += late.map { "\($0.message) of term \($0.term) arrived after another" } }
  }

  /// What arrived behind a message of a term that came in the place of its own.
  var late: [FleetRigServer.Arrival] { behindOthers(server.arrivals) }

  /// Those of a lower term than was seen before the store has lost anything; since then, those of a term that another one has
  /// followed.
  private func behindOthers(_ arrivals: [FleetRigServer.Arrival]) -> [FleetRigServer.Arrival] {
    var over: [Int: Set<UInt64>] = [:]
    var last: FleetRigServer.Arrival?
    return arrivals.filter { arrival in
      guard let before = last, before.term != arrival.term else {
        last = arrival
        return false
      }
      let part = part(arrival)
      if over[part]?.contains(arrival.term) == true || part == 0 && arrival.term < before.term { return true }
      over[part, default: []].insert(before.term)
      last = arrival
      return false
    }
  }

  /// What arrived behind a message of a later term, whatever the store has lost.
  private var behindLater: [FleetRigServer.Arrival] {
    var top: UInt64 = 0
    return server.arrivals.filter { arrival in
      defer { top = max(top, arrival.term) }
      return arrival.term < top
    }
  }

  /// Between which losses of the store a message was decided upon.
  private func part(_ arrival: FleetRigServer.Arrival) -> Int { losses.count { $0 <= arrival.decided } }

  /// Of one host, first copies, in the order of acceptance. What was adopted overtakes what waited for its turn at a host
  /// that was taken for dead, and what was written late is late. So is what an earlier holder had waiting, where a failover has
  /// undone the later term and that one goes on.
  private func checkOrder() {
    let late = Set(behindLater.map(\.message))
    // A host may not have heard of it, where it was undone.
    let adopted = adopted.union(store.adopted.flatMap(Self.messages))
    var seen: Set<FleetRigMessage> = []
    var top: [String: UInt64] = [:]
    for arrival in server.arrivals where seen.insert(arrival.message).inserted {
      let message = arrival.message
      if adopted.contains(message) || late.contains(message) { continue }
      if message.number < top[message.host] ?? 0 {
        problems.append("\(message) arrived after \(top[message.host] ?? 0)")
      }
      top[message.host] = max(top[message.host] ?? 0, message.number)
    }
  }

  /// Those that a row may be, by its name: `HOST/HOST-NUMBER`.
  private static func messages(_ name: String) -> [FleetRigMessage] {
    let parts = name.split { $0 == "/" || $0 == "-" }
    return FleetRigMessage.Sort.allCases.filter(\.isDurable).map {
      FleetRigMessage(host: String(parts[0]), number: UInt64(parts[2]) ?? 0, sort: $0)
    }
  }

  /// How everything stands, for whoever looks for a mistake.
  private var standing: String {
    let holders = hosts.map { host in
      "\(host.name): \(host.holder.lease.state), \(host.holder.publisher.state), \(host.program.state)"
    }
    let place = FleetPlace(fleet: "f", upstream: "u")
    let markers = store.records(of: place.key(.events), after: .start).filter { $0.position.number == 0 }.suffix(6)
    return (holders + markers.map { "\($0.position) \($0.fields.text("k") ?? "") \($0.fields.text("t") ?? "")" })
      .joined(separator: "\n")
  }

  /// How often durable sends were written more than once.
  var repetitions: Int { server.arrivals.count - Set(server.arrivals.map(\.message)).count }
}
