@testable import GatewayCore

/// An upstream behind the gateway of `LocalServerFixture`: every attempt succeeds, and the test says what it sends.
final class LocalServerUpstream: UpstreamKind {
  let traits = UpstreamTraits("test", schemes: ["test"], path: .namespace, examination: .handshake) { _ in nil }
  private let timers: Timers
  private var channels: [Channel] = []

  init(timers: Timers) { self.timers = timers }

  func connector(for specification: UpstreamSpecification) -> any UpstreamConnector { Connector(self) }

  /// Sends an event on every open connection.
  func emit(_ name: String, _ arguments: String) {
    let name = Array("\"\(name)\"".utf8)
    let arguments = Array(arguments.utf8)
    for channel in channels {
      channel.owner?.channel(channel, receivedEvent: name.span.bytes, arguments: arguments.span.bytes, ack: nil)
    }
  }

  private func open(_ owner: any UpstreamChannelOwner) -> Channel {
    let channel = Channel(owner)
    timers.after(.zero) { [self] in
      channels.append(channel)
      owner.channelOpened(channel)
    }
    return channel
  }

  private final class Connector: UpstreamConnector {
    let hosts = ["nowhere.example"]
    let route = DialRequest(
      secure: false, host: "nowhere.example", port: 80, target: "/", headers: [], tls: TLSSettings(),
      phaseLimit: .seconds(1), messageLimit: 1)
    let kind = "test"
    let partsLimit = 2 << 20
    var observer: (any UpstreamObserver)?
    private let upstream: LocalServerUpstream
    init(_ upstream: LocalServerUpstream) { self.upstream = upstream }

    func prepare(_ draft: MessageDraft) throws(MessageProblem) -> PreparedMessage {
      PreparedMessage(event: draft.event, body: draft.args)
    }
    func prepareAnswer(_ draft: AnswerDraft) throws(MessageProblem) -> PreparedMessage {
      PreparedMessage(event: "", body: draft.args)
    }
    func check(_ message: PreparedMessage, acknowledged: Bool) -> MessageProblem? { nil }
    func dial(owner: any UpstreamChannelOwner) -> any UpstreamChannel { upstream.open(owner) }
  }

  private final class Channel: UpstreamChannel {
    weak var owner: (any UpstreamChannelOwner)?
    let unsentBytes = 0
    let isCongested = false
    let facts = ChannelFacts(link: "link")
    init(_ owner: any UpstreamChannelOwner) { self.owner = owner }
    func write(_ message: PreparedMessage, ack: UInt64?) {}
    func answer(_ id: UInt64, _ message: PreparedMessage) {}
    func forget(ack: UInt64) {}
    func checkHeartbeat() {}
    func verify() {}
    func repeatsCredentials(_ failure: UpstreamFailure) -> Bool { false }
    func close() { owner = nil }
  }
}
