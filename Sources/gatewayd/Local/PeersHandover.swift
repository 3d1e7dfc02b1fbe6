import GatewayCore

/// All local clients go from one daemon to the next. Decision 0115.
extension LocalPeers {
  /// Puts the conversations of all clients into a parcel. Returns how many. Until the parcel is where the next daemon
  /// finds it they can still end here.
  func handOver(in parcel: HandoverParcel) throws(SystemError) -> Int {
    var sockets: [HandoverParcel.Socket] = []
    try parcel.write(HandoverDocument.line(.header(gateway.handoverHeader)))
    for key in gateway.handoverKeys { try parcel.write(HandoverDocument.line(.key(key))) }
    for slot in slots.indices {
      guard let session = slots[slot].session else { continue }
      let client = session.handOver(
        socket: try LocalSocket.number(of: slots[slot].descriptor), input: unheard(slot))
      try parcel.write(HandoverDocument.line(.client(client)))
      sockets.append(
        HandoverParcel.Socket(
          descriptor: slots[slot].descriptor, isWithinLine: session.output.pointee.isWithinLine))
    }
    try parcel.send(sockets)
    return sockets.count
  }

  /// What a client has said and its session has not heard.
  private func unheard(_ slot: Int) -> [UInt8] {
    (slots[slot].input?.received ?? []) + slots[slot].pendingInput.withRest { Array($0) }
  }

  /// Lets go of all sockets, which are another daemon's: nothing more is written, and no client hears of an end.
  func abandonAll() {
    for slot in slots.indices where slots[slot].phase != .vacant { vacate(slot) }
  }

  /// Goes on with a conversation of another daemon on its socket, or ends it in order where there is no place for it.
  /// Returns false if that is so.
  func takeOver(_ client: HandoverDocument.Client, on socket: HandoverParcel.Socket) throws(SystemError) -> Bool {
    let (tag, credentials) = try enter(socket.descriptor)
    let slot = Int(tag.slot)
    let taken = gateway.attach(client, of: credentials, tag: tag.number)
    slots[slot].session = taken.session
    taken.session.takeOver(taken.client, isWithinLine: socket.isWithinLine)
    if !taken.client.input.isEmpty {
      slots[slot].pendingInput = PendingInput(taken.client.input)
      watch(slot, slots[slot].interest.subtracting(.readable))
      postpone(slot)
    }
    return !taken.isTurnedAway
  }
}
