/// Every kind of upstream that there is: the one place where a further one is registered.
extension UpstreamKinds {
  /// What is known of each beforehand.
  public static let all = UpstreamKinds([
    SocketIOKind.traits, PlainWebSocketKind.traits, LinesKind.traits, WAMPKind.traits,
  ])

  /// One of each.
  public static func make(_ seams: UpstreamSeams) -> UpstreamKindSet {
    UpstreamKindSet(all: [
      SocketIOKind(
        dialer: seams.webSockets, requester: seams.requester, credentials: seams.credentials, timers: seams.timers,
        time: seams.time, random: seams.random, memory: seams.memory, servers: seams.servers),
      PlainWebSocketKind(seams), LinesKind(seams), WAMPKind(seams),
    ])
  }
}
