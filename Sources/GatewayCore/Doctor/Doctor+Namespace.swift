/// The namespace and its credentials, by a connection as every other, on a link of its own.
extension Doctor {
  /// The step `namespace`, with which the examination ends.
  func lookAtNamespace() {
    begin(.namespace)
    let visit = NamespaceVisit(connector)
    hold(visit)
    visit.start { [weak self] in self?.namespaceSeen($0) }
  }

  private var namespace: String { specification.shownNamespace }

  private func namespaceSeen(_ result: Result<Void, UpstreamFailure>) {
    switch result {
    case .success:
      find(.ok, "namespace.ok", "The server accepts the namespace \(namespace).")
      begin(.auth)
      credentialsAccepted()
      judgeRoundTrip()
    case .failure(let failure): refused(failure)
    }
    finish()
  }

  private func refused(_ failure: UpstreamFailure) {
    let seen = Self.sentence(failure)
    switch failure.reason {
    case .auth: credentialsMissing(failure)
    case .refused where Self.isUnknown(failure):
      find(.failed, "namespace.unknown", seen, adviceForUnknown)
    case .refused:
      find(.ok, "namespace.ok", "The server knows the namespace \(namespace).")
      credentialsRefused(failure)
    case .timeout:
      find(
        .failed, "namespace.silent", seen,
        "The server opens the link but does not answer for the namespace: a middleware of it hangs, or it expects another "
          + "parser (`parser` is \(parser) here). Look into its log.")
    case .idle, .requested, .offline, .unreachable, .tls, .http, .incompatible, .kicked, .closed, .heartbeat,
      .protocolError, .tooLarge, .draining:
      find(
        .failed, "namespace.failed", seen,
        "The link broke before the namespace was accepted: the server may expect another parser (`parser` is \(parser) "
          + "here); look into its log.")
    }
  }

  private var parser: String { "\"\(specification.settings.parser.rawValue)\"" }

  /// Socket.IO's own HTTP path is not a part of the URL, though people write it there.
  private var adviceForUnknown: String {
    if ["/socket.io", "/socket.io/"].contains(specification.namespace) {
      return
        "Leave \(namespace) out of the URL: Socket.IO's HTTP path is found by itself (`path` for another one), and the "
        + "path of the URL is the namespace."
    }
    return
      "The server has no namespace \(namespace): the path of the URL is the namespace. Leave it out for the main one, "
      + "or ask which namespaces there are."
  }

  /// What servers say to a namespace that they do not have: Node, and Python.
  private static func isUnknown(_ failure: UpstreamFailure) -> Bool {
    failure.serverMessage == "Invalid namespace" || failure.serverMessage == "Unable to connect"
  }

  private func judgeRoundTrip() {
    begin(.roundTrip)
    guard let roundTrip else { return find(.skipped, "round_trip.none", "No answer was timed.") }
    let tenths = (roundTrip.nanoseconds + 50_000) / 100_000
    let seen = "A question and its answer take \(tenths / 10).\(tenths % 10) ms."
    guard roundTrip > Self.slow else { return find(.ok, "round_trip.ok", seen) }
    find(
      .warning, "round_trip.slow", seen,
      "That is slow: the server is far away or busy. Everything works, but takes its time; see that `timeout` allows for it."
    )
  }
}

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
  func channel(_ channel: any UpstreamChannel, droppedEvent reason: GapReason) {}
  func channel(_ channel: any UpstreamChannel, acknowledged id: UInt64, arguments: RawSpan, kwargs: RawSpan?) {}
  func channelHasNewCredentials(_ channel: any UpstreamChannel) {}

  private func letGo() {
    let channel = channel
    self.channel = nil
    channel?.close()
  }
}
