/// How a local client's conversation goes from one daemon to the next without its notice: what the one hands over, and
/// how the other goes on. Decision 0116.
extension LocalSession {
  /// The conversation as it stands; nothing may be said to the client afterwards. `socket` is the kernel's number of
  /// the client's, and `input` was read and not understood.
  public func handOver(socket: UInt64, input: [UInt8]) -> HandoverDocument.Client {
    // What waits moves to the output on the way.
    let calls = isClosing ? [] : continuations()
    return HandoverDocument.Client(
      socket: socket, name: name, since: since, nextSubscription: subscriptions.nextID,
      nextTrace: traces?.nextNumber ?? 1,
      input: isClosing ? [] : input, output: output.pointee.bytes, isClosing: isClosing, calls: calls)
  }

  /// The calls that make the next daemon hold what this one holds, in the order in which the client made them.
  private func continuations() -> [HandoverDocument.Call] {
    let held = subscriptions.all.sorted { $0.subscription.serial < $1.subscription.serial }
    var calls = held.map { $0.continuation().continuation(nil) }
    for trace in traces?.all ?? [] {
      trace.tellDropped()
      calls.append(HandoverDocument.Call(line: trace.line(), number: UInt64(trace.id.dropFirst())))
    }
    return calls + suspended.map(\.continuation)
  }

  /// Goes on with the conversation of another daemon, whose client this is. What the client was to be sent comes first;
  /// `isWithinLine`: the beginning of its first line is written.
  public func takeOver(_ client: HandoverDocument.Client, isWithinLine: Bool = false) {
    name = client.name
    since = client.since ?? since
    subscriptions.nextID = client.nextSubscription
    client.output.withUnsafeBytes { if !$0.isEmpty { gateway.outputs.append($0, to: output) } }
    output.pointee.isWithinLine = isWithinLine
    for call in client.calls where !isClosing { repeatCall(call) }
    if client.nextTrace > 1 { makeTraces().nextNumber = client.nextTrace }
    if client.isClosing { closeWhenFlushed() }
  }

  private func repeatCall(_ call: HandoverDocument.Call) {
    if let number = call.number { makeTraces().nextNumber = number }
    do throws(LocalRequestFailure) {
      var request = try LocalRequest.parse(call.line.span.bytes)
      request.takeUp(call)
      perform(request.call, call.isNotification ? nil : request.id ?? .answered)
    } catch { drop(reason: Self.restarting, reconnectIn: gateway.reconnectDelay) }
  }
}
