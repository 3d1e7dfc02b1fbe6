/// Whom an engine tells what becomes of it, and which of them have heard that it is reached. Any of them may come and go
/// while others are told.
final class RedisReceivers {
  private struct Receiver {
    weak var receiver: (any FleetEngineReceiver)?
    var knows = false
  }

  private var all: [Receiver] = []

  func add(_ receiver: any FleetEngineReceiver) { all.append(Receiver(receiver: receiver)) }
  func remove(_ receiver: any FleetEngineReceiver) { all.removeAll { $0.receiver == nil || $0.receiver === receiver } }
  func removeAll() { all = [] }

  /// Tells those that do not know yet, for as long as it is so.
  func gained(_ server: FleetServer, while isSo: () -> Bool) {
    for receiver in all where !receiver.knows && isSo() { tell(receiver, knows: true) { $0.engineGained(server) } }
  }

  func lost(_ failure: UpstreamFailure) {
    for receiver in all where receiver.knows { tell(receiver, knows: false) { $0.engineLost(failure) } }
  }

  func missed() {
    for receiver in all where !receiver.knows { receiver.receiver?.engineMissed() }
  }

  private func tell(_ receiver: Receiver, knows: Bool, _ body: (any FleetEngineReceiver) -> Void) {
    guard let receiver = receiver.receiver, let at = all.firstIndex(where: { $0.receiver === receiver }),
      all[at].knows != knows
    else { return }
    all[at].knows = knows
    body(receiver)
  }

  func refused(_ failure: UpstreamFailure, of place: FleetPlace) {
    for receiver in all { receiver.receiver?.engineRefused(failure, of: place) }
  }
}
