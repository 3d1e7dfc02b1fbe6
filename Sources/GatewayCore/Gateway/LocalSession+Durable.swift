/// Sends that are kept on disk.
extension LocalSession {
  /// Refuses what a durable send cannot be, and what the outbox has no room for.
  func checkDurable(_ call: SendParameters, _ message: PreparedMessage, _ connection: Connection) throws(LocalError) {
    if call.target.auth != nil {
      throw LocalError(
        .invalidParams,
        "A durable send cannot have `auth`, which would have to be written to the disk; configure an upstream for it.")
    }
    if call.volatile {
      throw LocalError(.invalidParams, "`volatile` drops the event, `delivery: \"durable\"` keeps it; choose one.")
    }
    if call.noQueue {
      throw LocalError(.invalidParams, "`no_queue` keeps nothing, `delivery: \"durable\"` does; choose one.")
    }
    do throws(Outbox.Refusal) {
      try gateway.outbox.checkRoom(
        cost: message.byteCount + OutboxEntry.overhead, target: connection.outboxTarget,
        owner: peer.uid)
    } catch {
      throw LocalError(error)
    }
  }

  /// A durable send is on disk.
  func stored(_ number: UInt64, _ id: String, on connection: Connection) {
    guard let call = close(number) else { return }
    reply(call.id) { out in
      out.begin(#""id":"#)
      out.string(id)
      out.begin(#","state":"#)
      out.string(DeliveryLevel.durable.rawValue)
      StatusDocument.writeUpstream(connection, into: &out)
    }
  }
}
