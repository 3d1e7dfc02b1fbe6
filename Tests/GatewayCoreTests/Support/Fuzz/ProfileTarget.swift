@testable import GatewayCore

/// A server of JSON lines. The first byte chooses the profile and whether the login is awaited; the rest is the lines that the
/// server sends. What is delivered must be well-formed and on one line, and must come back as it was when it is sent.
enum ProfileTarget {
  static func problem(with input: [UInt8]) -> String? {
    guard let first = input.first else { return nil }
    let scene = UpstreamScene()
    let isWhole = first & 1 != 0
    let connection = scene.dial(UpstreamURL(scheme: "tcp", host: "h", port: 1)) { settings in
      if isWhole { settings.lines.body = "" }
      (settings.lines.heartbeat.type, settings.lines.heartbeat.answer) = ("ping", "pong")
      if first & 2 != 0 { settings.lines.login.type = "login" }
    }
    scene.open()
    if first & 4 != 0 { ask(connection) }
    _ = scene.takeSent()
    var buffer = LineBuffer(limit: 1 << 20)
    let stream = Array(input[1...])
    try? buffer.append(stream.span.bytes) { line in scene.receive(text: line.withUnsafeBytes { Array($0) }) }
    return wrong(connection, scene) ?? sentBack(connection, scene, isWhole)
  }

  /// Two requests whose answers the server may give.
  private static func ask(_ connection: UpstreamScene.Connection) {
    let draft = MessageDraft(event: "sum", args: Array("[{}]".utf8), purpose: .call, isAcknowledged: true)
    guard let message = try? connection.connector.prepare(draft) else { return }
    for id: UInt64 in 7...8 { connection.channel?.write(message, ack: id) }
  }

  private static func wrong(_ connection: UpstreamScene.Connection, _ scene: UpstreamScene) -> String? {
    if let problem = connection.owner.problem { return problem }
    guard connection.owner.endings.isEmpty == (scene.line?.isClosed == false) else {
      return "the transport and the channel do not end together"
    }
    guard connection.owner.acknowledgements.count <= 2 else { return "more was answered than was asked" }
    for event in connection.owner.events {
      let args = [UInt8(ascii: "[")] + event.arguments + [UInt8(ascii: "]")]
      guard !args.contains(10), !args.contains(13) else { return "an event holds a line end" }
      guard (try? JSONScanner.validate(args.span.bytes)) != nil else { return "an event's arguments are no JSON" }
      if let kwargs = event.kwargs, (try? JSONScanner.validate(kwargs.span.bytes)) == nil {
        return "an event's keyword arguments are no JSON"
      }
    }
    return nil
  }

  /// The argument of an event, sent, has to arrive as the same argument.
  private static func sentBack(
    _ connection: UpstreamScene.Connection, _ scene: UpstreamScene, _ isWhole: Bool
  ) -> String? {
    guard connection.owner.endings.isEmpty, connection.owner.opened == 1 else { return nil }
    for event in connection.owner.events.prefix(8) where !event.arguments.isEmpty {
      let args = [UInt8(ascii: "[")] + event.arguments + [UInt8(ascii: "]")]
      guard let message = try? connection.connector.prepare(MessageDraft(event: "back", args: args)) else { continue }
      _ = scene.takeSent()
      connection.channel?.write(message, ack: nil)
      guard case .text(let line)? = scene.takeSent().first, line.last == 10 else { return "nothing was written" }
      let count = connection.owner.events.count
      scene.receive(text: Array(line.dropLast()))
      guard connection.owner.events.count == count + 1, let last = connection.owner.events.last else {
        return "what was written is no event"
      }
      if !isWhole, last.arguments != event.arguments { return "an argument came back as another one" }
    }
    return nil
  }
}
