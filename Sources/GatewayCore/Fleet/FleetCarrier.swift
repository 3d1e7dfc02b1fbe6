/// The durable sends of hosts that died, in one conversation of the holder: which of them are to be written, and how often.
/// It writes nothing itself.
final class FleetCarrier {
  private struct Carried {
    var send: FleetSend
    /// Here; what its own host had written before counts as none.
    var writes = 0
    /// Nil when it is finished.
    var asks: [UInt64]? = []
    var timer: Timers.ID?
  }

  private let timers: Timers
  /// In milliseconds since 1970.
  private let wall: () -> Int64
  /// By the names of their rows: all that were taken in this conversation.
  private var carried: [String: Carried] = [:]

  /// One is to be written once more.
  var onDue: (FleetSend) -> Void = { _ in }
  /// What has become of one.
  var onEnd: (String, FleetSendEnd) -> Void = { _, _ in }

  init(timers: Timers, wall: @escaping () -> Int64) {
    self.timers = timers
    self.wall = wall
  }

  /// Takes those of the fleet's sends that were not taken before. Returns what is to be written, in its order.
  /// - Parameter isUnderWay: whether its host had written one in this conversation before it died.
  func take(_ sends: [FleetSend], isUnderWay: (String) -> Bool) -> [FleetSend] {
    let fresh = sends.filter { carried[$0.name] == nil }.sorted()
    var newest: [Coalescing: FleetSend] = [:]
    for send in fresh { if let value = send.entry.coalescing { newest[value.of(send.host)] = send } }
    return fresh.filter { send in
      carried[send.name] = Carried(send: send)
      if isUnderWay(send.name) {
        wait(for: send)
        return false
      }
      if let value = send.entry.coalescing, let last = newest[value.of(send.host)], send.gives(wayTo: last) {
        end(send.name, FleetSendEnd(.dropped, reason: OutboxEntry.coalesced))
        return false
      }
      return true
    }
  }

  /// Whether one that waits may be written now; its time may be over.
  func admits(_ name: String) -> Bool {
    guard let carried = carried[name], carried.asks != nil else { return false }
    guard isOver(carried.send) else { return true }
    end(name, carried.writes == 0 ? FleetSendEnd(.expired) : Self.unanswered)
    return false
  }

  /// One was written, with that number where an acknowledgement is awaited.
  func wrote(_ name: String, ack: UInt64?) {
    carried[name]?.writes += 1
    guard let ack, let send = carried[name]?.send else { return }
    carried[name]?.asks?.append(ack)
    wait(for: send)
  }

  /// One has its outcome: nobody else says another one. Returns the acknowledgements that are awaited of it.
  @discardableResult
  func finish(_ name: String) -> [UInt64] {
    guard let asks = carried[name]?.asks else { return [] }
    carried[name]?.asks = nil
    timers.cancel(carried[name]?.timer)
    // The name is all that has to be known of it.
    carried[name]?.send.entry.message = PreparedMessage(event: "", body: [])
    return asks
  }

  func close() {
    for one in carried.values { timers.cancel(one.timer) }
    carried = [:]
  }

  private static let unanswered = FleetSendEnd(.lost, reason: "ack_timeout")

  private func isOver(_ send: FleetSend) -> Bool { send.entry.expires.map { $0 <= wall() } ?? false }

  private func wait(for send: FleetSend) {
    guard send.entry.retries != nil else { return }
    timers.cancel(carried[send.name]?.timer)
    let limit = send.entry.ackTimeout.map { Duration.milliseconds($0) } ?? Retry.usualAckTimeout
    carried[send.name]?.timer = timers.after(limit) { [weak self] in self?.waitedEnough(send.name) }
  }

  private func waitedEnough(_ name: String) {
    guard let carried = carried[name], carried.asks != nil else { return }
    guard carried.writes <= carried.send.entry.retries ?? 0, !isOver(carried.send) else {
      return end(name, Self.unanswered)
    }
    onDue(carried.send)
  }

  private func end(_ name: String, _ end: FleetSendEnd) { onEnd(name, end) }
}

extension Coalescing {
  /// The same among the sends of several hosts.
  fileprivate func of(_ host: String) -> Coalescing {
    var one = self
    one.value = "\(host)/\(value)"
    return one
  }
}
