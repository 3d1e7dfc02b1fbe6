/// A WebSocket without anything above it: open means ready.
final class PlainWebSocketSession: DirectSession {
  private unowned let link: DirectLink
  let heartbeat: HeartbeatSettings?
  /// Subprotocols are offered, and the server has to choose one.
  private let mustAgree: Bool

  init(_ link: DirectLink, heartbeat: HeartbeatSettings, mustAgree: Bool) {
    self.link = link
    self.heartbeat = heartbeat
    self.mustAgree = mustAgree
  }

  let awaited = "the WebSocket handshake"
  let protocols: [(name: String, revision: Int)] = [("websocket", 13)]

  func begin(_ facts: TransportFacts) {
    guard !mustAgree || facts.subprotocol != nil else {
      return link.fail(
        UpstreamFailure(.incompatible, "the server chose none of the offered WebSocket subprotocols"))
    }
    link.ready()
  }

  func received(text: RawSpan) {
    if isTooLong(text.byteCount) { return }
    link.trace?.message(.incoming, "EVENT message (1 arg, \(text.byteCount) bytes)", payload: text)
    switch PlainWebSocketMessage.withArgument(text, limit: link.owner?.lineLimit ?? .max, deliver) {
    case .argument: break
    case .tooLong(let size): link.owner?.channel(link, receivedEvent: Self.name.span.bytes, tooLong: size, ack: nil)
    case .tooDeep: link.owner?.channel(link, dropped: DroppedEvent(.undecodable))
    }
  }

  func received(binary: RawSpan) {
    if isTooLong(Base64.encodedCount(binary.byteCount)) { return }
    link.trace?.message(.incoming, "EVENT message (1 arg, \(binary.byteCount) bytes of binary)")
    PlainWebSocketMessage.withArgument(binary: binary, deliver)
  }

  /// What is longer than a line need not be looked at: whatever it is, it is one message.
  private func isTooLong(_ size: Int) -> Bool {
    guard let owner = link.owner, size > owner.lineLimit else { return false }
    link.trace?.message(.incoming, "EVENT message (1 arg, \(size) bytes, more than a line)")
    owner.channel(link, receivedEvent: Self.name.span.bytes, tooLong: size, ack: nil)
    return true
  }

  private func deliver(_ argument: RawSpan) {
    link.owner?.channel(link, receivedEvent: Self.name.span.bytes, arguments: argument, ack: nil)
  }

  private static let name = Array("\"message\"".utf8)

  func write(_ message: PreparedMessage, ack: UInt64?) {
    if let binary = message.attachments.first {
      link.trace?.message(.outgoing, "EVENT message (1 arg, \(binary.count) bytes of binary)")
      return link.send(binary: binary.span.bytes, compress: message.compress)
    }
    let body = message.body
    let text = body.span.bytes.extracting(1..<body.count)
    link.trace?.message(.outgoing, "EVENT message (1 arg, \(text.byteCount) bytes)", payload: text)
    link.send(text: text, compress: message.compress)
  }

  func probe() -> Bool { link.transport?.probe() == true }
}
