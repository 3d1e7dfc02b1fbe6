@testable import GatewayCore

/// A joined namespace. The first byte chooses: the rest is what the server sends, message by message, or the arguments
/// that a local client wants to send. What arrives must be well-formed, and what is sent must come back the same.
enum SocketIOTarget {
  static func problem(with input: [UInt8]) -> String? {
    guard let first = input.first else { return nil }
    let rest = Array(input[1...])
    switch first & 3 {
    case 0: return sendProblem(rest, three: first & 4 != 0)
    default: return receiveProblem(rest, three: first & 4 != 0)
    }
  }

  private static func joined(three: Bool) -> (UpstreamScene, UpstreamScene.Connection) {
    let scene = UpstreamScene()
    let connection = scene.dial("/")
    scene.open()
    scene.receive(
      text: #"0{"sid":"s","pingInterval":25000,"pingTimeout":20000\#(three ? "" : #","maxPayload":1000000"#)}"#)
    scene.receive(text: three ? "40" : #"40{"sid":"x"}"#)
    _ = scene.takeSent()
    return (scene, connection)
  }

  // MARK: - From the server

  /// Messages are separated by NUL bytes; one that begins with a byte of value 1 is binary.
  private static func receiveProblem(_ input: [UInt8], three: Bool) -> String? {
    let (scene, connection) = joined(three: three)
    for message in input.split(separator: 0, omittingEmptySubsequences: false) {
      if message.first == 1 {
        scene.receive(binary: Array(message.dropFirst()))
      } else {
        scene.receive(text: Array(message))
      }
    }
    if let problem = connection.owner.problem { return problem }
    if !connection.owner.acknowledgements.isEmpty { return "an acknowledgement came that nobody had asked for" }
    guard connection.owner.endings.isEmpty == (scene.line?.isClosed == false) else {
      return "the transport and the channel do not end together"
    }
    for event in connection.owner.events {
      if let problem = eventProblem(event, three: three) { return problem }
    }
    return nil
  }

  private static func eventProblem(_ event: UpstreamScene.Owner.Event, three: Bool) -> String? {
    guard !event.arguments.contains(10), !event.arguments.contains(13) else { return "an event holds a line end" }
    let args = [UInt8(ascii: "[")] + event.arguments + [UInt8(ascii: "]")]
    guard (try? JSONScanner.validate(args.span.bytes)) != nil else { return "an event's arguments are no JSON" }
    guard let name = try? JSONValue.parse(event.name.span.bytes, limit: .max) else {
      return "an event's name is no JSON"
    }
    switch name {
    case .string, .number: break
    case .null, .bool, .array, .object: return "an event's name is neither text nor number"
    }
    return echoProblem(args, three: three)
  }

  // MARK: - From a local client

  private static func sendProblem(_ args: [UInt8], three: Bool) -> String? {
    guard (try? JSONScanner.validate(args.span.bytes)) != nil else { return nil }
    return echoProblem(args, three: three)
  }

  /// Sends arguments and lets the server send back what it got.
  private static func echoProblem(_ args: [UInt8], three: Bool) -> String? {
    let (scene, connection) = joined(three: three)
    guard
      let message = try? connection.connector.prepare(MessageDraft(event: "echo", args: args, isAcknowledged: false))
    else {
      return nil
    }
    connection.channel?.write(message, ack: nil)
    let frames = scene.takeSent()
    guard frames.count == 1 + message.attachments.count else { return "not every attachment was written" }
    for frame in frames {
      switch frame {
      case .text(let text): scene.receive(text: text)
      case .binary(let bytes): scene.receive(binary: bytes)
      }
    }
    guard connection.owner.endings.isEmpty, let event = connection.owner.events.first else {
      return depthProblem(args)
    }
    let echoed = [UInt8(ascii: "[")] + event.arguments + [UInt8(ascii: "]")]
    guard let sent = try? JSONValue.parse(args.span.bytes, limit: .max),
      let received = try? JSONValue.parse(echoed.span.bytes, limit: .max)
    else {
      return "what came back is no JSON"
    }
    return sent == received ? nil : "what came back is not what was sent"
  }

  /// Only what is deeper than a line of the local protocol could carry may be lost.
  private static func depthProblem(_ args: [UInt8]) -> String? {
    (try? JSONScanner.validate(args.span.bytes, depth: 62)) == nil ? nil : "what was sent did not come back"
  }
}
