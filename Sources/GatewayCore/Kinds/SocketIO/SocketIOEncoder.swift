/// Writes Socket.IO packets as Engine.IO text messages. Socket.IO protocol, section "Packet encoding".
enum SocketIOEncoder {
  /// Appends one text message. `namespace` is empty for the main one; `body` is JSON text.
  static func append(
    _ kind: SocketIOPacket.Kind, attachments: Int = 0, namespace: [UInt8], ack: UInt64? = nil, body: [UInt8] = [],
    to output: inout [UInt8]
  ) {
    output.append(room: headLimit + namespace.count + body.count) { out in
      out.put("4")
      out.put(decimal: UInt64(kind.rawValue))
      if attachments > 0 {
        out.put(decimal: UInt64(attachments))
        out.put("-")
      }
      if !namespace.isEmpty {
        out.put(namespace.span.bytes)
        out.put(",")
      }
      if let ack { out.put(decimal: ack) }
      out.put(body.span.bytes)
    }
  }

  /// Most bytes of what stands beside the namespace and the body.
  private static let headLimit = 4 + 2 * RawWriter.digitLimit

  /// The length of what `append` writes for an event or an acknowledgement, with `ackDigits` digits of id.
  static func size(of message: PreparedMessage, namespace: [UInt8], ackDigits: Int) -> Int {
    let count = message.attachmentCount
    return 2 + (count == 0 ? 0 : digits(UInt64(count)) + 1) + (namespace.isEmpty ? 0 : namespace.count + 1) + ackDigits
      + message.bodyCount
  }

  /// How many decimal digits a number has.
  static func digits(_ number: UInt64) -> Int {
    var rest = number
    var count = 1
    while rest >= 10 {
      rest /= 10
      count += 1
    }
    return count
  }
}
