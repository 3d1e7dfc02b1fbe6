@testable import GatewayCore

/// A plain WebSocket: whatever text arrives is one well-formed argument on one line, and comes back as the same text when
/// that argument is sent, but for white space that means nothing and for the quotes of a JSON string.
enum PlainTarget {
  static func problem(with input: [UInt8]) -> String? {
    guard String(validating: input, as: UTF8.self) != nil else { return nil }
    let scene = UpstreamScene()
    let connection = scene.dial(UpstreamURL(scheme: "raw+ws", host: "h")) { _ in }
    scene.open()
    scene.receive(text: input)
    if let problem = connection.owner.problem { return problem }
    guard let event = connection.owner.events.first else { return nil }
    let args = [UInt8(ascii: "[")] + event.arguments + [UInt8(ascii: "]")]
    guard !args.contains(10), !args.contains(13) else { return "an event holds a line end" }
    guard (try? JSONScanner.validate(args.span.bytes, depth: LineDepth.argumentLimit + 1)) != nil else {
      return "the argument is no JSON"
    }
    let json = try? JSONScanner.validate(input.span.bytes)
    if let json, input[json.lowerBound] == UInt8(ascii: "\"") { return nil }
    guard let message = try? connection.connector.prepare(MessageDraft(event: "message", args: args)) else {
      return nil
    }
    connection.channel?.write(message, ack: nil)
    guard case .text(let text)? = scene.takeSent().last else { return "nothing was written" }
    let expected = json.map { input[$0].map { $0 == 10 || $0 == 13 ? 32 : $0 } } ?? input
    return text == expected ? nil : "the text came back as another one"
  }
}
