/// Which transport an attempt uses, and which next when one fails in a way that another might not. Decision 0011.
struct TransportChoice: Equatable, Sendable {
  enum Step: Equatable, Sendable {
    /// Dial again, with `current`.
    case tryNext
    /// The attempt has failed; with more than one transport the failure says what became of each.
    case giveUp(UpstreamFailure)
  }

  private struct Attempt: Equatable {
    var transport: TransportName
    var failure: UpstreamFailure
  }

  private(set) var current: TransportName
  private var left: ArraySlice<TransportName>
  private var attempts: [Attempt] = []
  private let upgrades: Bool

  /// `order` is what is configured, `remembered` what worked the last time. Without any transport it is a WebSocket.
  init(order: [TransportName], remembered: TransportName?, upgrades: Bool) {
    var order = order
    if let remembered, let place = order.firstIndex(of: remembered) { order.swapAt(0, place) }
    current = order.first ?? .websocket
    left = order.dropFirst()
    self.upgrades = upgrades && order.contains(.websocket)
  }

  /// Whether a session that begins with `current` may go on as a WebSocket.
  var mayUpgrade: Bool { upgrades && current == .polling && !attempts.contains { $0.transport == .websocket } }

  /// Whether `current` need not answer in the whole time that it has otherwise, because long-polling follows if it does
  /// not. Then it is tried again, as the last one.
  var isHurried: Bool {
    current == .websocket && !left.isEmpty && !attempts.contains { $0.transport == .websocket }
  }

  /// The present transport failed before the server's handshake.
  mutating func failed(_ failure: UpstreamFailure, beforeHTTP: Bool) -> Step {
    if failure.reason == .timeout, isHurried { left.append(current) }
    attempts.append(Attempt(transport: current, failure: failure))
    guard !beforeHTTP, Self.othersMayDoBetter(failure), let next = left.popFirst() else {
      return .giveUp(conclusion(failure))
    }
    current = next
    return .tryNext
  }

  /// A server that cannot be reached at all is not reached by another transport either, and one that asks to be left
  /// alone is.
  private static func othersMayDoBetter(_ failure: UpstreamFailure) -> Bool {
    guard failure.retryAfter == nil else { return false }
    return switch failure.reason {
    case .http, .closed, .timeout, .protocolError, .tooLarge: true
    case .idle, .requested, .offline, .unreachable, .tls, .incompatible, .refused, .kicked, .heartbeat, .auth,
      .fleet, .draining:
      false
    }
  }

  /// What the server did to the preferred transport gives the reason; but an answer, whatever it is, says more than
  /// none, and a refusal of our credentials more than any.
  private func conclusion(_ last: UpstreamFailure) -> UpstreamFailure {
    guard attempts.count > 1, let first = attempts.first?.failure else { return last }
    let refusal = attempts.first { $0.failure.isRefusal }?.failure
    let answered = attempts.first { $0.failure.reason == .http }?.failure
    var failure = first.reason == .protocolError || first.reason == .tooLarge ? first : answered ?? first
    failure = refusal ?? failure
    failure.retryAfter = attempts.compactMap(\.failure.retryAfter).max()
    failure.detail = attempts.map { "\($0.transport.rawValue): \($0.failure.detail)" }.joined(separator: "; ")
    return failure
  }
}
