@testable import GatewayCore

/// A whole server as the fuzzer imagines it: what it says, when, and how it goes away. The input is a script of steps,
/// each a byte for its kind and, for messages, a length and the content.
enum EngineIOTarget {
  static func problem(with input: [UInt8]) -> String? {
    let scene = UpstreamScene()
    let connections = [scene.dial("/"), scene.dial("/n?q=1"), scene.dial("/n")]
    var script = input[...]
    while let step = script.popFirst() {
      perform(step, &script, scene, connections)
      if let problem = problem(scene, connections) { return problem }
    }
    return endProblem(scene, connections)
  }

  private static func perform(
    _ step: UInt8, _ script: inout ArraySlice<UInt8>, _ scene: UpstreamScene, _ connections: [UpstreamScene.Connection]
  ) {
    let connection = connections[Int(step >> 4) % connections.count]
    switch step & 15 {
    case 0: scene.open()
    case 1: scene.receive(text: #"0{"sid":"s","pingInterval":25000,"pingTimeout":20000,"maxPayload":1000}"#)
    case 2: scene.receive(text: #"0{"sid":"s","pingInterval":25000,"pingTimeout":20000}"#)
    case 3: scene.receive(text: ["40", "40/n", #"40{"sid":"x"}"#, #"40/n,{"sid":"y"}"#][Int(step >> 4) % 4])
    case 4, 5, 6: scene.receive(text: take(&script))
    case 7: scene.receive(binary: take(&script))
    case 8: scene.fail(TransportFailure(UpstreamFailure(.closed, "gone")))
    case 9: scene.fail(TransportFailure(UpstreamFailure(.http, "no", status: 400), httpBody: take(&script)))
    case 10: scene.advance(.milliseconds(Int(script.popFirst() ?? 0)))
    case 11: scene.advance(.seconds(Int(script.popFirst() ?? 0)))
    case 12:
      connection.channel?.close()
      connection.channel = nil
    case 13:
      guard connection.channel == nil || !connection.owner.endings.isEmpty else { return }
      connection.owner.endings = []
      connection.owner.opened = 0
      connection.channel = connection.connector.dial(owner: connection.owner)
    case 14: write("e", take(&script), connection)
    default: connection.channel?.forget(ack: UInt64(step >> 4))
    }
  }

  private static func take(_ script: inout ArraySlice<UInt8>) -> [UInt8] {
    let count = Int(script.popFirst() ?? 0)
    defer { script = script.dropFirst(count) }
    return Array(script.prefix(count))
  }

  private static func write(_ event: String, _ args: [UInt8], _ connection: UpstreamScene.Connection) {
    guard connection.owner.opened == 1, connection.owner.endings.isEmpty,
      (try? JSONScanner.validate(args.span.bytes)) != nil,
      let message = try? connection.connector.prepare(MessageDraft(event: event, args: args, isAcknowledged: true))
    else { return }
    connection.channel?.write(message, ack: UInt64(args.count))
  }

  private static func problem(_ scene: UpstreamScene, _ connections: [UpstreamScene.Connection]) -> String? {
    for connection in connections {
      if let problem = connection.owner.problem { return problem }
      for event in connection.owner.events where event.arguments.contains(10) || event.arguments.contains(13) {
        return "an event holds a line end"
      }
      _ = connection.channel?.facts
    }
    guard let line = scene.line else { return nil }
    if line.isClosed, line.receiver != nil { return "a closed transport still has its receiver" }
    for case .text(let text) in line.sent where !text.starts(with: [50]) && !text.starts(with: [51]) {
      guard text.first == UInt8(ascii: "4") else { return "something was sent that is no packet" }
    }
    return nil
  }

  /// When everybody has left, nothing is left.
  private static func endProblem(_ scene: UpstreamScene, _ connections: [UpstreamScene.Connection]) -> String? {
    for connection in connections { connection.channel?.close() }
    scene.advance(.zero)
    if scene.kind.linkCount != 0 { return "a link stays without channels" }
    return scene.pendingTimers == 0 ? nil : "a timer stays without links"
  }
}
