import CCurlMulti
import GatewayCore
import Glibc

/// libcurl's multi interface on the event loop: it drives connections and HTTP exchanges without ever blocking.
final class CurlMulti {
  /// What everything runs on.
  let loop: EventLoop
  /// Finds the proxy for every server.
  let proxies: ProxyEnvironment
  /// Made with the first handle, so that a daemon without connections never loads libcurl. Decision 0134.
  private var multi: UnsafeMutableRawPointer?
  private var sources: [Int32: EventLoop.IOSource] = [:]
  private var timer: Timers.ID?
  private let idle: CurlSweep
  private var easies: [UnsafeMutableRawPointer: Unmanaged<CurlEasy>] = [:]
  /// Those of them whose name is being looked up.
  private var resolving: [UnsafeMutableRawPointer: Unmanaged<CurlEasy>] = [:]
  /// Those that may not write at any time.
  private var limited: Set<UnsafeMutableRawPointer> = []
  /// The cache that was made last, as long as a handle has its connection there.
  private weak var connectionCache: CurlConnectionCache?
  /// Counts how often libcurl was let work.
  private(set) var round = 0

  /// `environment` gives the value of a variable; the usual ones name proxies.
  init(loop: EventLoop, environment: @escaping (String) -> String?) {
    self.loop = loop
    idle = CurlSweep(loop: loop)
    proxies = ProxyEnvironment(variable: environment)
  }

  deinit {
    loop.timers.cancel(timer)
    guard let multi else { return }
    gw_multi_set_socket_function(multi, nil)
    gw_multi_set_timer_function(multi, nil)
    curl_multi_cleanup(multi)
  }

  /// nil when memory is short.
  private func made() -> UnsafeMutableRawPointer? {
    if let multi { return multi }
    guard let multi = curl_multi_init() else { return nil }
    self.multi = multi
    let me = Unmanaged.passUnretained(self).toOpaque()
    gw_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, me)
    gw_multi_set_pointer(multi, CURLMOPT_TIMERDATA, me)
    gw_multi_set_socket_function(multi) { easy, descriptor, action, me, _ in
      me.map { Unmanaged<CurlMulti>.fromOpaque($0).takeUnretainedValue().watch(descriptor, action, for: easy) }
      return 0
    }
    gw_multi_set_timer_function(multi) { _, milliseconds, me in
      me.map { Unmanaged<CurlMulti>.fromOpaque($0).takeUnretainedValue().arm(milliseconds) }
      return 0
    }
    return multi
  }

  /// Begins the work of a handle. False when memory is short. It must be removed before it goes.
  func add(_ easy: CurlEasy) -> Bool {
    if !easy.keepsConnectionApart { idle.transferBegins() }
    easies[easy.handle] = Unmanaged.passUnretained(easy)
    resolving[easy.handle] = easies[easy.handle]
    guard let multi = made() else { return false }
    return curl_multi_add_handle(multi, easy.handle) == CURLM_OK
  }

  /// Ends the work of a handle, at whatever point it is.
  func remove(_ easy: CurlEasy) {
    if let multi { curl_multi_remove_handle(multi, easy.handle) }
    easies[easy.handle] = nil
    limited.remove(easy.handle)
    resolving[easy.handle] = nil
  }

  /// An HTTP exchange is over. Its connection waits for the next one, but not for ever.
  func exchangeEnded() { idle.exchangeEnded(on: self) }

  /// Before libcurl is let work, what the handle would write has to be looked at.
  func limits(_ easy: CurlEasy) { limited.insert(easy.handle) }

  /// The handle's name is resolved.
  func resolved(_ easy: CurlEasy) { resolving[easy.handle] = nil }

  /// A cache with room for one more connection; nil when memory is short.
  func cacheWithRoom() -> CurlConnectionCache? {
    if let connectionCache, !connectionCache.isFull { return connectionCache }
    let fresh = CurlConnectionCache()
    connectionCache = fresh
    return fresh
  }

  // MARK: - What libcurl asks for

  /// A changed interest makes a new source: libcurl may have closed the descriptor and opened another of the same
  /// number meanwhile, which a source that was only modified would never see.
  private func watch(_ descriptor: Int32, _ action: Int32, for handle: UnsafeMutableRawPointer?) {
    sources[descriptor] = nil
    var interest: EventLoop.Readiness = []
    if action == CURL_POLL_IN || action == CURL_POLL_INOUT { interest.insert(.readable) }
    if action == CURL_POLL_OUT || action == CURL_POLL_INOUT { interest.insert(.writable) }
    let easy = easy(handle)
    guard !interest.isEmpty else {
      easy?.isUnwatched(descriptor)
      return
    }
    easy?.isWatched(descriptor, for: interest)
    do {
      sources[descriptor] = try loop.addIO(descriptor, interest) { [weak self] readiness in
        self?.act(on: descriptor, readiness)
      }
    } catch {
      // Telling libcurl would end every connection, not only this one.
      let problem = CurlProblem(kind: .other, text: error.description)
      loop.onNextTurn { [weak easy] in easy?.finish(problem) }
    }
  }

  private func arm(_ milliseconds: Int) {
    loop.timers.cancel(timer)
    timer = nil
    guard milliseconds >= 0 else { return }
    timer = loop.timers.after(.milliseconds(milliseconds)) { [weak self] in self?.act(CURL_SOCKET_TIMEOUT, 0) }
  }

  private func act(on descriptor: Int32, _ readiness: EventLoop.Readiness) {
    var flags: Int32 = 0
    if readiness.contains(.readable) { flags |= CURL_CSELECT_IN }
    if readiness.contains(.writable) { flags |= CURL_CSELECT_OUT }
    if readiness.contains(.failed) || readiness.contains(.hungUp) { flags |= CURL_CSELECT_ERR }
    act(descriptor, flags)
  }

  private func act(_ descriptor: Int32, _ flags: Int32) {
    // libcurl divides the time that is left among a host's addresses in the moment when it learns them.
    for easy in resolving.values { easy.takeUnretainedValue().allowConnecting(phases: 1) }
    limitWrites()
    round += 1
    var count: Int32 = 0
    guard let multi else { return }
    curl_multi_socket_action(multi, descriptor, flags, &count)
    while let message = curl_multi_info_read(multi, &count) {
      guard gw_message_is_done(message) != 0, let easy = easy(message.pointee.easy_handle) else { continue }
      easy.finish(code: gw_message_result(message))
    }
  }

  /// What waits in libcurl for the kernel would be written without a word. The end of one may be that of others.
  private func limitWrites() {
    for handle in limited {
      guard let easy = easy(handle) else { continue }
      easy.tightenKernelLimit()
      if easy.holdsLateBytes { easy.finish(CurlProblem(kind: .late, text: "", proxy: easy.proxy)) }
    }
  }

  private func easy(_ handle: UnsafeMutableRawPointer?) -> CurlEasy? {
    handle.flatMap { easies[$0]?.takeUnretainedValue() }
  }
}
