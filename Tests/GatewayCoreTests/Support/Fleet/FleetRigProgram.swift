@testable import GatewayCore

/// The connection of one host with its programs, as simple as it can be: sends of four sorts in one queue, and a subscriber.
final class FleetRigProgram: UpstreamChannelOwner {
  private struct Send {
    var message: FleetRigMessage
    var isReady: Bool
    /// Its number in the conversation.
    var flight: UInt64 = 0
  }

  private unowned let host: FleetRigHost
  private let world: FleetRig
  private let connector: FleetConnector
  private var channel: FleetChannel?
  private var isOpen = false
  private var queue: [Send] = []
  private var flights: [Send] = []
  private var adopted: [UInt64: FleetRigMessage] = [:]
  private var place: EventPlace?
  private var drains = false

  init(_ host: FleetRigHost, _ world: FleetRig) {
    self.host = host
    self.world = world
    connector = FleetConnector(host.rig, link: host.link)
  }

  /// Nothing of it waits for anything.
  var isIdle: Bool { isOpen && queue.isEmpty && flights.isEmpty && adopted.isEmpty }
  /// What it waits for, in words.
  var state: String {
    let lines = [queue, flights].map { $0.prefix(3).map(\.message.description).joined(separator: ", ") }
    let conversation = channel.map { "\($0.state)" } ?? "no channel"
    return "\(conversation), life \(host.link.speakingLife ?? 0) of \(host.link.life ?? 0), queue [\(lines[0])], "
      + "flights [\(lines[1])], adopted \(adopted.keys.sorted())"
  }

  private var box: FleetBox { host.link.box }

  func begin() {
    box.onNews = { [weak self] in self?.heard($0) }
    dial()
    send()
    poll()
  }

  private func dial() {
    channel = connector.dial(owner: self) as? FleetChannel
  }

  // MARK: - Sending

  private func send() {
    let pause = Int64(10 + host.random(2 * world.options.sendPause))
    host.timers.after(.milliseconds(pause)) { [weak self] in
      guard let self else { return }
      if world.isBusy { sendOne() }
      send()
    }
  }

  private func sendOne() {
    let sort = FleetRigMessage.Sort.allCases[Int(host.random(4))]
    // A request needs a link.
    guard sort != .asked || isOpen else { return }
    let message = FleetRigMessage(host: host.name, number: world.nextNumber(host.name), sort: sort)
    queue.append(Send(message: message, isReady: !sort.isDurable))
    if sort.isDurable {
      var fields = FleetFields()
      message.prepared.add(to: &fields)
      if sort.wantsAck { fields.add("r", 100) }
      fields.add("i", message.number)
      fields.add("id", "\(message.host)-\(message.number)")
      box.put(message.number, fields)
    }
    drain()
  }

  private func boxed(_ number: UInt64) {
    if let place = queue.firstIndex(where: { $0.message.number == number }) {
      queue[place].isReady = true
      world.stored.insert(queue[place].message)
    }
    drainSoon()
  }

  private func drainSoon() {
    guard !drains else { return }
    drains = true
    host.timers.after(.zero) { [weak self] in
      self?.drains = false
      self?.drain()
    }
  }

  private func drain() {
    while isOpen, let channel, let first = queue.first, first.isReady {
      queue.removeFirst()
      var send = first
      let ack = send.message.sort.wantsAck ? send.message.number : nil
      if send.message.sort.isDurable {
        channel.write(send.message.prepared, ack: ack, entry: send.message.number)
      } else {
        channel.write(send.message.prepared, ack: ack)
      }
      send.flight = host.link.speech.last
      flights.append(send)
    }
  }

  /// What the holder has confirmed is sent.
  private func poll() {
    lookAtWritten()
    host.timers.after(.milliseconds(20)) { [weak self] in self?.poll() }
  }

  private func lookAtWritten() {
    let confirmed = host.link.speech.confirmed
    for send in flights where !send.message.sort.wantsAck && send.flight <= confirmed {
      settle(send.message.number, .finished)
    }
  }

  private func settle(_ number: UInt64, _ outcome: FleetRig.Outcome) {
    let found = (queue + flights).first { $0.message.number == number }?.message ?? adopted[number]
    queue.removeAll { $0.message.number == number }
    flights.removeAll { $0.message.number == number }
    adopted[number] = nil
    guard let found else { return }
    world.outcomes[found, default: []].append(outcome)
    if found.sort.isDurable { box.finish(number) }
  }

  // MARK: - The box

  private func heard(_ news: FleetBox.News) {
    switch news {
    case .boxed(let number): boxed(number)
    case .refused: break
    case .adopted(let number): adopted(number)
    case .returned(let number): returned(number)
    case .found(_, let fields): found(fields)
    case .ended: break
    case .outcome(let number, _):
      adopted(number)
      settle(number, .finished)
    }
  }

  private func adopted(_ number: UInt64) {
    guard let send = (queue + flights).first(where: { $0.message.number == number }) else { return }
    queue.removeAll { $0.message.number == number }
    flights.removeAll { $0.message.number == number }
    adopted[number] = send.message
    world.adopted.insert(send.message)
    world.stored.insert(send.message)
  }

  private func returned(_ number: UInt64) {
    guard let message = adopted.removeValue(forKey: number) else { return }
    enqueue(Send(message: message, isReady: true))
    drainSoon()
  }

  private func found(_ fields: FleetFields) {
    guard let message = PreparedMessage(fields).flatMap({ FleetRigMessage($0) }) else { return }
    box.put(message.number, fields)
    enqueue(Send(message: message, isReady: true))
    drainSoon()
  }

  /// At its old place.
  private func enqueue(_ send: Send) {
    let place = queue.firstIndex { $0.message.number > send.message.number } ?? queue.count
    queue.insert(send, at: place)
  }

  // MARK: - The channel

  func channelOpened(_ channel: any UpstreamChannel) {
    isOpen = true
    world.opened(host)
    drainSoon()
  }

  func channelEnded(_ channel: any UpstreamChannel, _ failure: UpstreamFailure) {
    isOpen = false
    lookAtWritten()
    let ended = flights
    flights = []
    let isFinal = channel.confirmations?.isFinal == true
    for send in ended {
      let isUnwritten = isFinal && !send.message.sort.wantsAck
      if isUnwritten { world.requeued += send.message.sort.isDurable ? 0 : 1 }
      if send.message.sort.isDurable || isUnwritten {
        enqueue(Send(message: send.message, isReady: true))
      } else {
        world.outcomes[send.message, default: []].append(.lost)
      }
    }
    self.channel = nil
    host.timers.after(.milliseconds(20)) { [weak self] in self?.dial() }
  }

  func channel(_ channel: any UpstreamChannel, at place: EventPlace) { self.place = place }

  func channel(
    _ channel: any UpstreamChannel, receivedEvent name: RawSpan, arguments: RawSpan, kwargs: RawSpan?, ack: UInt64?
  ) {
    guard let place = place.take() else { return world.problems.append("an event without a place") }
    let text = arguments.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    world.heard(host, place, UInt64(text) ?? 0)
  }

  func channel(_ channel: any UpstreamChannel, dropped event: DroppedEvent) {}
  func channel(_ channel: any UpstreamChannel, acknowledged id: UInt64, arguments: RawSpan, kwargs: RawSpan?) {
    settle(id, .finished)
  }
  func channelHasNewCredentials(_ channel: any UpstreamChannel) {}
}
