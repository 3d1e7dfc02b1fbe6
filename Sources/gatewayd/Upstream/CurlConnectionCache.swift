import CCurl

/// Where libcurl keeps a few of the connections that stay open. For each read and each write libcurl looks through the
/// whole cache for the connection of the handle; without this that is one cache for all connections of the daemon.
/// Decision 0072.
final class CurlConnectionCache {
  /// Most connections of one cache. A cache takes 9 KiB.
  static let limit = 8

  let share: UnsafeMutableRawPointer
  /// Handles whose connections are kept here. They hold the cache.
  private(set) var count = 0

  var isFull: Bool { count >= Self.limit }

  /// Nil when memory is short.
  init?() {
    guard let share = curl_share_init() else { return nil }
    self.share = share
    guard gw_share_connections(share) != 0 else { return nil }
  }

  deinit { curl_share_cleanup(share) }

  /// A handle has its connection here from now on.
  func enter() { count += 1 }

  /// A handle goes.
  func leave() { count -= 1 }
}
