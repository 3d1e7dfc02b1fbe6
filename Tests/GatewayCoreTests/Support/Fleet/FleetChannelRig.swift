@testable import GatewayCore

/// One host that takes part in a fleet, with what it is told and what it says.
final class FleetChannelRig {
  let scene = FleetScene()
  let owner = FleetOwner()
  let link: FleetLink

  init() {
    link = FleetLink(scene.settings, engine: scene.engine, timers: scene.timers)
    scene.settle()
  }

  func dial() -> FleetChannel {
    let channel = link.dial(owner: owner)
    owner.channel = channel
    scene.settle()
    return channel
  }

  func message(_ text: String) -> PreparedMessage { PreparedMessage(event: "m", body: Array(text.utf8)) }

  /// What this host has said: conversation, number and body.
  var said: [String] {
    scene.store.records(of: scene.place.key(.up), after: .start).compactMap { FleetUpEntry($0.fields) }.map { entry in
      guard case .write(let message, _, _) = entry.call else { return "\(entry.conversation)/\(entry.number)" }
      return "\(entry.conversation)/\(entry.number) \(String(decoding: message.body, as: UTF8.self))"
    }
  }
}
