@testable import GatewayCore

/// A WAMP session with subscriptions, a registration and requests under way. Each line of the input is a message of the
/// router, or, behind a `!`, something that the local programs do.
enum WAMPTarget {
  static func problem(with input: [UInt8]) -> String? {
    guard let play = WAMPPlay() else { return "no session could be begun" }
    for line in input.split(separator: 10, omittingEmptySubsequences: false) {
      if line.first == UInt8(ascii: "!") {
        for letter in line.dropFirst() { play.act(letter) }
      } else {
        play.scene.receive(text: Array(line))
      }
      if let problem = play.problem() { return problem }
    }
    return nil
  }
}

/// The local side of the play.
private final class WAMPPlay {
  let scene = UpstreamScene()
  private let connection: UpstreamScene.Connection
  private var nextAck: UInt64 = 1
  private var nextRequest: UInt64 = 1
  private var judged = 0

  init?() {
    let url = UpstreamURL(scheme: "wamp+ws", host: "h", path: "/ws", fragment: "realm1")
    connection = scene.dial(url) { _ in }
    for letter in "abp".utf8 { want(letter) }
    var facts = TransportFacts(name: "websocket", tlsVersion: nil, verified: true)
    facts.subprotocol = "wamp.2.json"
    scene.line?.receiver?.transportOpened(facts, headers: [])
    scene.receive(text: #"[2,7,{"roles":{"broker":{},"dealer":{"features":{"call_canceling":true}}}}]"#)
    for text in ["[33,1,70]", "[33,2,71]", "[65,3,90]"] { scene.receive(text: text) }
    act(UInt8(ascii: "c"))
    act(UInt8(ascii: "s"))
    guard problem() == nil, connection.owner.opened == 1 else { return nil }
  }

  private static func interest(_ letter: UInt8) -> Interest {
    switch letter {
    case UInt8(ascii: "a"): Interest(.name(ExactText("a")))
    case UInt8(ascii: "b"): Interest(.glob(ExactText("b.*")))
    case UInt8(ascii: "A"): Interest(.glob(ExactText("a*")))
    case UInt8(ascii: "p"): Interest(.name(ExactText("p")), answers: true)
    default: Interest(.all)
    }
  }

  private func want(_ letter: UInt8) { connection.channel?.want(Self.interest(letter)) }

  /// `a`, `b`, `A`, `p`, `x` want, their successors drop; `c` calls, `s` publishes with an acknowledgement, `f` gives the
  /// last of them up, `y` answers the last invocation.
  func act(_ letter: UInt8) {
    switch letter {
    case UInt8(ascii: "c"), UInt8(ascii: "s"):
      let purpose = letter == UInt8(ascii: "c") ? MessageDraft.Purpose.call : .event
      let draft = MessageDraft(event: "q", args: Array("[1]".utf8), purpose: purpose, isAcknowledged: true)
      guard connection.owner.endings.isEmpty, let message = try? connection.connector.prepare(draft) else { return }
      connection.channel?.write(message, ack: nextAck)
      nextAck += 1
    case UInt8(ascii: "f"): connection.channel?.forget(ack: nextAck - 1)
    case UInt8(ascii: "y"):
      guard let ack = connection.owner.events.last(where: { $0.ack != nil })?.ack,
        let answer = try? connection.connector.prepareAnswer(AnswerDraft(args: Array("[2]".utf8)))
      else { return }
      connection.channel?.answer(ack, answer)
    case UInt8(ascii: "d"): connection.channel?.drop(Self.interest(UInt8(ascii: "a")))
    case UInt8(ascii: "e"): connection.channel?.drop(Self.interest(UInt8(ascii: "b")))
    case UInt8(ascii: "q"): connection.channel?.drop(Self.interest(UInt8(ascii: "p")))
    default: want(letter)
    }
  }

  /// The first property that is broken.
  func problem() -> String? {
    if let problem = connection.owner.problem { return problem }
    guard connection.owner.endings.isEmpty == (scene.line?.isClosed == false) else {
      return "the transport and the channel do not end together"
    }
    for event in connection.owner.events[judged...] {
      if let problem = problem(with: event) { return problem }
    }
    judged = connection.owner.events.count
    for frame in scene.takeSent() {
      if let problem = problem(with: frame) { return problem }
    }
    return nil
  }

  private func problem(with event: UpstreamScene.Owner.Event) -> String? {
    guard isJSON(event.name) else { return "an event's name is no JSON" }
    let parts = [[UInt8(ascii: "[")] + event.arguments + [UInt8(ascii: "]")], event.kwargs ?? Array("{}".utf8)]
    for part in parts {
      guard !part.contains(10), !part.contains(13) else { return "an event holds a line end" }
      guard isJSON(part) else { return "an event's payload is no JSON" }
    }
    return echoProblem(parts[0])
  }

  /// What was received can be sent, and comes back as it was.
  private func echoProblem(_ args: [UInt8]) -> String? {
    do {
      _ = try connection.connector.prepare(MessageDraft(event: "echo", args: args))
      return nil
    } catch {
      // The router may send a string that only looks like binary, which must not be passed on.
      return args.containsNUL ? nil : "what was received cannot be sent"
    }
  }

  private func problem(with frame: UpstreamScene.Frame) -> String? {
    guard case .text(let text) = frame else { return "a binary message was sent" }
    guard let value = try? JSONValue.parse(text.span.bytes, limit: .max), let code = value[0]?.integerValue else {
      return "what was sent is no message"
    }
    guard [16, 32, 34, 48, 64, 66].contains(code) else { return nil }
    guard value[1]?.integerValue == Int(nextRequest) else { return "the ids of the requests have a gap" }
    nextRequest += 1
    return nil
  }

  private func isJSON(_ bytes: [UInt8]) -> Bool { (try? JSONScanner.validate(bytes.span.bytes)) != nil }
}

extension [UInt8] {
  /// Whether a JSON text names the character U+0000.
  fileprivate var containsNUL: Bool {
    let mark = Array(#"\u0000"#.utf8)
    return indices.contains { index in self[index...].starts(with: mark) }
  }
}
