import CCurl
import GatewayCore
import Glibc

/// libcurl's multi interface on the event loop: it makes connections (name, TCP, TLS) without ever blocking. This is the
/// only file that knows libcurl's transfers.
final class CurlMulti {
  /// What a read or a write came to.
  enum Progress: Equatable {
    case bytes(Int)
    /// Nothing can be done until the descriptor is ready.
    case wait
    /// The peer sends no more.
    case ended
    case failed(CurlProblem)
  }

  private let loop: EventLoop
  private let multi: UnsafeMutableRawPointer
  private var sources: [Int32: EventLoop.IOSource] = [:]
  private var timer: Timers.ID?

  private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  init(loop: EventLoop) throws(SystemError) {
    self.loop = loop
    guard Self.isReady, let multi = curl_multi_init() else { throw SystemError("start libcurl", code: ENOMEM) }
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
  }

  deinit {
    loop.timers.cancel(timer)
    gw_multi_set_socket_function(multi, nil)
    gw_multi_set_timer_function(multi, nil)
    curl_multi_cleanup(multi)
  }

  // MARK: - What libcurl asks for

  /// A changed interest makes a new source: libcurl may have closed the descriptor and opened another of the same
  /// number meanwhile, which a source that was only modified would never see.
  private func watch(_ descriptor: Int32, _ action: Int32, for easy: UnsafeMutableRawPointer?) {
    sources[descriptor] = nil
    var interest: EventLoop.Readiness = []
    if action == CURL_POLL_IN || action == CURL_POLL_INOUT { interest.insert(.readable) }
    if action == CURL_POLL_OUT || action == CURL_POLL_INOUT { interest.insert(.writable) }
    guard !interest.isEmpty else { return }
    let connection = Connection.of(easy)
    connection?.isWatched(for: interest)
    do {
      sources[descriptor] = try loop.addIO(descriptor, interest) { [weak self] readiness in
        self?.act(on: descriptor, readiness)
      }
    } catch {
      // Telling libcurl would end every connection, not only this one.
      let problem = CurlProblem(kind: .other, text: error.description)
      loop.onNextTurn { [weak connection] in connection?.finish(problem) }
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
    var count: Int32 = 0
    curl_multi_socket_action(multi, descriptor, flags, &count)
    while let message = curl_multi_info_read(multi, &count) {
      guard message.pointee.msg == CURLMSG_DONE, let connection = Connection.of(message.pointee.easy_handle) else {
        continue
      }
      connection.finish(gw_message_result(message))
    }
  }

  // MARK: - One connection

  /// A connection that libcurl makes and that then carries raw bytes, encrypted or not. It goes with this object.
  final class Connection {
    private let multi: CurlMulti
    private let easy: UnsafeMutableRawPointer
    /// What libcurl said last: the first error while it connects, the last remark of a read or a write.
    private let text = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var route: UnsafeMutablePointer<curl_slist>?
    private var onMade: ((CurlProblem?) -> Void)?
    /// What is under way. libcurl itself tells only when all is done.
    private var phase = CurlProblem.Phase.name

    /// Starts to connect. `onMade` hears the outcome once, later, unless this object goes first: nil means made.
    init(_ multi: CurlMulti, to request: DialRequest, onMade: @escaping (CurlProblem?) -> Void) throws(CurlProblem) {
      guard let easy = curl_easy_init() else { throw CurlProblem(kind: .other, text: "out of memory") }
      self.multi = multi
      self.easy = easy
      self.onMade = onMade
      text.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
      try configure(request)
      try check(gw_easy_set_pointer(easy, CURLOPT_PRIVATE, Unmanaged.passUnretained(self).toOpaque()))
      guard curl_multi_add_handle(multi.multi, easy) == CURLM_OK else {
        throw CurlProblem(kind: .other, text: "out of memory")
      }
    }

    deinit {
      curl_multi_remove_handle(multi.multi, easy)
      curl_easy_cleanup(easy)
      curl_slist_free_all(route)
      text.deallocate()
    }

    fileprivate static func of(_ easy: UnsafeMutableRawPointer?) -> Connection? {
      guard let easy, let pointer = gw_easy_private(easy) else { return nil }
      return Unmanaged<Connection>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// The connected socket; it belongs to libcurl.
    var descriptor: Int32 { gw_easy_socket(easy) }

    /// Such as `TLSv1.3`; nil without TLS, and before the first byte was sent.
    var tlsVersion: String? { gw_easy_tls_version(easy).map { String(cString: $0) } }

    /// Writes some of `bytes`. After `wait` the same memory must be offered again, with at least as many bytes.
    func send(_ bytes: UnsafeRawBufferPointer) -> Progress {
      text.pointee = 0
      var count = 0
      let result = curl_easy_send(easy, bytes.baseAddress, bytes.count, &count)
      if result == CURLE_OK { return .bytes(count) }
      return result == CURLE_AGAIN ? .wait : .failed(problem(result))
    }

    /// Reads what is there. Only `wait` means that the descriptor will become readable when there is more: OpenSSL
    /// may hold decrypted bytes that no poll sees.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Progress {
      text.pointee = 0
      var count = 0
      let result = curl_easy_recv(easy, buffer.baseAddress, buffer.count, &count)
      if result == CURLE_OK { return count > 0 ? .bytes(count) : .ended }
      if result == CURLE_AGAIN { return .wait }
      let problem = problem(result)
      // Many servers hang up without TLS's own goodbye.
      return problem.text.contains("unexpected eof while reading") ? .ended : .failed(problem)
    }

    /// A resolved name's socket is watched for writing until TCP is connected, and for reading in the TLS handshake.
    fileprivate func isWatched(for interest: EventLoop.Readiness) {
      guard gw_easy_time(easy, CURLINFO_NAMELOOKUP_TIME_T) > 0 else { return }
      phase = interest == .writable ? .tcp : .tls
    }

    fileprivate func finish(_ result: CURLcode) { finish(result == CURLE_OK ? nil : problem(result)) }

    fileprivate func finish(_ problem: CurlProblem?) {
      listen()
      let onMade = onMade
      self.onMade = nil
      onMade?(problem)
    }

    /// libcurl fills its error buffer once. What goes wrong on the open connection it only says to a debug function.
    private func listen() {
      gw_easy_set_debug_function(easy) { _, kind, line, length, text in
        guard kind == CURLINFO_TEXT, let line, let text else { return 0 }
        let length = min(length, Int(CURL_ERROR_SIZE) - 1)
        memcpy(text, line, length)
        text.storeBytes(of: 0, toByteOffset: length, as: CChar.self)
        return 0
      }
      gw_easy_set_pointer(easy, CURLOPT_DEBUGDATA, text)
      gw_easy_set_long(easy, CURLOPT_VERBOSE, 1)
    }

    // MARK: - Settings

    private func configure(_ request: DialRequest) throws(CurlProblem) {
      try check(gw_easy_set_pointer(easy, CURLOPT_ERRORBUFFER, text))
      try set(CURLOPT_CONNECT_ONLY, 1)
      try set(CURLOPT_NOSIGNAL, 1)
      try set(CURLOPT_FRESH_CONNECT, 1)
      // Otherwise ALPN offers HTTP/2, on which no WebSocket can be opened by an upgrade.
      try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
      // Otherwise the loop would wait for a name server that does not answer when a dial is given up.
      try set(CURLOPT_QUICK_EXIT, 1)
      try set(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(request.phaseLimit.milliseconds)))
      try configureRoute(request)
      if request.secure { try configureTLS(request.tls) }
    }

    /// Where to connect, and as which name to ask for it. The environment's proxies are not used.
    private func configureRoute(_ request: DialRequest) throws(CurlProblem) {
      let host = Self.bracketed(request.host)
      let name = request.secure ? request.tls.serverName ?? request.host : request.host
      try set(CURLOPT_URL, "\(request.secure ? "https" : "http")://\(Self.bracketed(name)):\(request.port)/")
      try set(CURLOPT_PROXY, "")
      guard name != request.host else { return }
      route = curl_slist_append(nil, "::\(host):\(request.port)")
      try check(gw_easy_set_list(easy, CURLOPT_CONNECT_TO, route))
    }

    private func configureTLS(_ tls: TLSSettings) throws(CurlProblem) {
      try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
      try set(CURLOPT_SSL_VERIFYPEER, tls.verify ? 1 : 0)
      try set(CURLOPT_SSL_VERIFYHOST, tls.verify ? 2 : 0)
      // With a directory libcurl would parse all of it for each connection.
      try check(gw_easy_set_text(easy, CURLOPT_CAPATH, nil))
      if let file = tls.ca ?? TrustStore.systemBundle() { try set(CURLOPT_CAINFO, file) }
      // A file of one upstream is small and may be renewed; it must not push the system's out of the cache.
      if tls.ca != nil { try set(CURLOPT_CA_CACHE_TIMEOUT, 0) }
      if let certificate = tls.certificate { try set(CURLOPT_SSLCERT, certificate) }
      if let key = tls.key { try set(CURLOPT_SSLKEY, key) }
    }

    private func set(_ option: CURLoption, _ value: Int) throws(CurlProblem) {
      try check(gw_easy_set_long(easy, option, value))
    }

    private func set(_ option: CURLoption, _ value: String) throws(CurlProblem) {
      try check(gw_easy_set_text(easy, option, value))
    }

    private func check(_ result: CURLcode) throws(CurlProblem) {
      if result != CURLE_OK { throw problem(result) }
    }

    private static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

    // MARK: - Problems

    private func problem(_ code: CURLcode) -> CurlProblem {
      let sentence = text.pointee == 0 ? curl_easy_strerror(code).map { String(cString: $0) } : String(cString: text)
      let line = sentence?.split(separator: "\n").first.map(String.init)
      return CurlProblem(kind: kind(of: code), text: line ?? "libcurl's error \(code.rawValue)")
    }

    private func kind(of code: CURLcode) -> CurlProblem.Kind {
      switch code {
      case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .nameNotResolved
      case CURLE_COULDNT_CONNECT: .notConnected(Int32(truncatingIfNeeded: gw_easy_long(easy, CURLINFO_OS_ERRNO)))
      case CURLE_OPERATION_TIMEDOUT: .timedOut(phase)
      case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS: .certificateRefused
      case CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE: .badCertificateFile
      case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED, CURLE_SSL_ENGINE_INITFAILED: .tls
      case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_UNSUPPORTED_PROTOCOL: .lost
      default: .other
      }
    }
  }
}
