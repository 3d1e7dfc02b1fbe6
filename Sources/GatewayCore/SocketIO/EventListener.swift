/// Who the events of a link most likely go to: the only channel on it, and its owner. Looked up and held once for all that
/// a read brought; neither changes its place meanwhile, but may go out of use.
struct EventListener {
  /// Nil where the link carries several namespaces, or none.
  let channel: SocketIOChannel?
  let owner: (any UpstreamChannelOwner)?

  init(_ namespaces: NamespaceIndex) {
    channel = namespaces.only
    owner = channel?.owner
  }

  /// Whether events of a namespace go there now.
  func isMeant(by namespace: RawSpan, in namespaces: borrowing NamespaceIndex) -> Bool {
    guard let channel, namespaces.isOnly(channel) else { return false }
    return channel.isNamed(namespace) && channel.isJoiningOrJoined
  }
}
