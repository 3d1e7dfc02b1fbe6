/// Joins a namespace, and leaves it at once.
final class NamespaceVisit: UpstreamChannelOwner, HTTPExchange {
  private let connector: any UpstreamConnector
  private var channel: (any UpstreamChannel)?
  private var done: ((Result<Void, UpstreamFailure>) -> Void)?

  init(_ connector: any UpstreamConnector) { self.connector = connector }

  /// What the server says besides is not examined.
  var lineLimit: Int { 0 }

  /// `done` is called once, later.
  func start(_ done: @escaping (Result<Void, UpstreamFailure>) -> Void) {
    self.done = done
    channel = connector.dial(owner: self)
  }

  func cancel() {
    done = nil
    letGo()
  }

  func channelOpened(_ channel: any UpstreamChannel) {
    let done = done
    self.done = nil
    letGo()
    done?(.success(()))
  }

  func channelEnded(_ channel: any UpstreamChannel, _ failure: UpstreamFailure) {
    let done = done
    self.done = nil
    self.channel = nil
    done?(.failure(failure))
  }

  func channel(
    _ channel: any UpstreamChannel, receivedEvent name: RawSpan, arguments: RawSpan, kwargs: RawSpan?, ack: UInt64?
  ) {}
  func channel(_ channel: any UpstreamChannel, dropped event: DroppedEvent) {}
  func channel(_ channel: any UpstreamChannel, acknowledged id: UInt64, arguments: RawSpan, kwargs: RawSpan?) {}
  func channelHasNewCredentials(_ channel: any UpstreamChannel) {}

  private func letGo() {
    let channel = channel
    self.channel = nil
    channel?.close()
  }
}
