@testable import GatewayCore

/// A joined namespace whose packets are MessagePack. The first byte chooses: the rest is the arguments of a server's
/// event, a whole packet, or the arguments that a local client wants to send. What arrives must be well-formed JSON, and
/// must come back byte for byte after it was sent.
enum MsgpackTarget {
  static func problem(with input: [UInt8]) -> String? {
    guard let first = input.first else { return nil }
    let rest = Array(input[1...])
    switch first & 3 {
    case 0:
      guard (try? JSONScanner.validate(rest.span.bytes, depth: 62)) != nil else { return nil }
      return echoed(rest).flatMap { echoProblem($0) }
    case 1: return receiveProblem(event(rest))
    default: return receiveProblem(rest)
    }
  }

  private static func event(_ arguments: [UInt8]) -> [UInt8] { packet(type: 2, [0x92, 0xa1, 0x65] + arguments) }

  /// A packet for the main namespace.
  private static func packet(type: UInt8, _ data: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = [0x83]
    for key in ["type", "nsp", "data"] {
      bytes.append(0xa0 | UInt8(key.utf8.count))
      bytes.append(contentsOf: key.utf8)
      switch key {
      case "type": bytes.append(type)
      case "nsp": bytes.append(contentsOf: [0xa1, 0x2f])
      default: bytes.append(contentsOf: data)
      }
    }
    return bytes
  }

  private static func joined() -> (UpstreamScene, UpstreamScene.Connection) {
    let scene = UpstreamScene()
    let connection = scene.dial("/", parser: .msgpack)
    scene.open()
    scene.receive(text: #"0{"sid":"s","pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}"#)
    scene.receive(binary: packet(type: 0, [0x81, 0xa3, 0x73, 0x69, 0x64, 0xa1, 0x78]))
    _ = scene.takeSent()
    return (scene, connection)
  }

  private static func receiveProblem(_ packet: [UInt8]) -> String? {
    let (scene, connection) = joined()
    scene.receive(binary: packet)
    if let problem = connection.owner.problem { return problem }
    guard connection.owner.endings.isEmpty == (scene.line?.isClosed == false) else {
      return "the transport and the channel do not end together"
    }
    for event in connection.owner.events {
      guard !event.arguments.contains(10), !event.arguments.contains(13) else { return "an event holds a line end" }
      guard (try? JSONScanner.validate(event.name.span.bytes)) != nil else { return "an event's name is no JSON" }
      let args = [UInt8(ascii: "[")] + event.arguments + [UInt8(ascii: "]")]
      guard (try? JSONScanner.validate(args.span.bytes, depth: 62)) != nil else {
        return "an event's arguments are no JSON"
      }
      if let problem = echoProblem(args) { return problem }
    }
    return nil
  }

  /// What was once written from MessagePack stays the same.
  private static func echoProblem(_ args: [UInt8]) -> String? {
    guard let echo = echoed(args) else { return "what was received cannot be sent" }
    return echo == args ? nil : "what came back is not what was sent"
  }

  /// Sends arguments and lets the server send back what it got; nil when they are refused.
  private static func echoed(_ args: [UInt8]) -> [UInt8]? {
    let (scene, connection) = joined()
    guard
      let message = try? connection.connector.prepare(MessageDraft(event: "echo", args: args, isAcknowledged: false))
    else { return nil }
    connection.channel?.write(message, ack: nil)
    for case .binary(let bytes) in scene.takeSent() { scene.receive(binary: bytes) }
    guard let event = connection.owner.events.first else { return nil }
    return [UInt8(ascii: "[")] + event.arguments + [UInt8(ascii: "]")]
  }
}
