import CCurl
import GatewayCore
import Glibc

/// One handle of libcurl's easy interface, typed: a connection being made, or an HTTP exchange. It watches over the
/// time of every phase itself, because libcurl has one limit for all of them. Its work ends with it. Decision 0015.
final class CurlEasy {
  /// What a read or a write came to.
  enum Progress: Equatable {
    case bytes(Int)
    /// Nothing can be done until the descriptor is ready.
    case wait
    /// The peer sends no more.
    case ended
    case failed(CurlProblem)
  }

  /// What the steps of an exchange may be told to do.
  enum Consent {
    case goOn
    /// The work ends with a problem.
    case stop
  }

  /// Limits of the phases, each by itself.
  struct Limits {
    /// Name, TCP, proxy, TLS: each of them.
    var connecting: Duration
    /// From the request to the end of the answer.
    var answer: Duration = .zero
  }

  let handle: UnsafeMutableRawPointer
  let multi: CurlMulti
  /// Host and port of the proxy on the way; nil without one.
  var proxy: String?
  /// What libcurl said last: the first error while it works, the last remark of a read or a write.
  let text = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  /// What options of several values were set to; libcurl copies none of them.
  var lists: [UnsafeMutablePointer<curl_slist>] = []
  /// Where its connection is kept; nil: with those of all handles that have none.
  private var connectionCache: CurlConnectionCache?
  /// When its work begins, libcurl does not look through the idle connections of the others.
  var keepsConnectionApart: Bool { connectionCache != nil }
  private var limits = Limits(connecting: .zero)
  private var started = MonotonicInstant(nanoseconds: 0)
  private var timer: Timers.ID?
  private(set) var isConnected = false
  private(set) var isEncrypting = false
  private(set) var isAnswering = false
  private var isAdded = false
  /// How many more bytes a proxy may say before the way is open.
  var tunnelHeadLeft = CurlExchange.headLimit
  /// The socket that libcurl works on; nil while it waits for nothing.
  private(set) var socket: Int32?
  /// Nothing is written from then on; nil without a limit.
  private(set) var writeLimit: MonotonicInstant?
  var kernelLimit = KernelLimit()
  /// What of the request is handed out by pieces.
  var question: CurlBody?
  /// Something was to be written when that was over.
  var isLate = false
  /// How often `onBody` was called in the present round of libcurl.
  var pieces = (round: 0, count: 0)
  /// What is under way. libcurl itself tells only when all is done.
  private(set) var phase = CurlProblem.Phase.name

  /// Hears the outcome once, later: nil means success.
  var onDone: ((CurlProblem?) -> Void)?
  /// The connection is ready and the request is about to be written; again when libcurl tries it a second time.
  var onReady: () -> Consent = { .goOn }
  /// One line of the response's head, with its line end.
  var onHeader: (UnsafeRawBufferPointer) -> Consent = { _ in .goOn }
  /// A piece of the response's body.
  var onBody: (UnsafeRawBufferPointer) -> Consent = { _ in .goOn }

  init(_ multi: CurlMulti) throws(CurlProblem) {
    guard let handle = curl_easy_init() else {
      throw CurlProblem(kind: .other, text: String(cString: gw_curl_problem()))
    }
    self.handle = handle
    self.multi = multi
    text.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    try check(gw_easy_set_pointer(handle, CURLOPT_ERRORBUFFER, text))
    let me = Unmanaged.passUnretained(self).toOpaque()
    try check(gw_easy_set_pointer(handle, CURLOPT_SSL_CTX_DATA, me))
    try check(
      gw_easy_set_tls_function(handle) { _, _, me in
        me.map { Unmanaged<CurlEasy>.fromOpaque($0).takeUnretainedValue().encrypts() }
        return CURLE_OK
      })
  }

  deinit {
    multi.loop.timers.cancel(timer)
    if isAdded { multi.remove(self) }
    curl_easy_cleanup(handle)
    connectionCache?.leave()
    lists.forEach { curl_slist_free_all($0) }
    text.deallocate()
  }

  /// Begins the work.
  func start(_ limits: Limits) throws(CurlProblem) {
    self.limits = limits
    started = multi.loop.time.now
    isAdded = true
    guard multi.add(self) else { throw CurlProblem(kind: .other, text: "out of memory") }
    allowConnecting(phases: 1)
    arm(limits.connecting)
  }

  /// Has the connection kept among a few others, because it is to stay open. To be called before `start`.
  func keepConnectionAmongFew() throws(CurlProblem) {
    guard let cache = multi.cacheWithRoom() else { throw CurlProblem(kind: .other, text: "out of memory") }
    try check(gw_easy_set_pointer(handle, CURLOPT_SHARE, cache.share))
    cache.enter()
    connectionCache = cache
  }

  /// Makes the work fail in the moment when it would open a socket.
  func refuseSockets() throws(CurlProblem) { try check(gw_easy_refuse_sockets(handle)) }

  /// Throws what an error code of libcurl means.
  func check(_ result: CURLcode) throws(CurlProblem) {
    if result != CURLE_OK { throw problem(result) }
  }

  // MARK: - The open connection

  /// The connected socket; it belongs to libcurl.
  var descriptor: Int32 { gw_easy_socket(handle) }

  /// Such as `TLSv1.3`; nil without TLS, before the first byte was sent, and once an exchange is over.
  var tlsVersion: String? { gw_easy_tls_version(handle).map { String(cString: $0) } }

  /// The peer's address in numbers; empty before there is one.
  var address: String { gw_easy_address(handle).map { String(cString: $0) } ?? "" }

  /// The lines `name:value` of each certificate that the peer sent, its own first; needs `keepsCertificates`.
  var certificates: [[String]] {
    var all: [[String]] = []
    while all.count < 16, var line = gw_easy_certificate(handle, Int32(all.count)) {
      var lines: [String] = []
      while true {
        if let text = line.pointee.data { lines.append(String(cString: text)) }
        guard let next = line.pointee.next else { break }
        line = UnsafePointer(next)
      }
      all.append(lines)
    }
    return all
  }

  /// The status of the response; 0 before it.
  var status: Int { gw_easy_long(handle, CURLINFO_RESPONSE_CODE) }

  /// Writes some of `bytes`. After `wait` the same memory must be offered again, with at least as many bytes.
  func send(_ bytes: UnsafeRawBufferPointer) -> Progress {
    text.pointee = 0
    var count = 0
    let result = curl_easy_send(handle, bytes.baseAddress, bytes.count, &count)
    if result == CURLE_OK { return .bytes(count) }
    return result == CURLE_AGAIN ? .wait : .failed(problem(result))
  }

  /// Reads what is there. Only `wait` means that the descriptor will become readable when there is more: OpenSSL
  /// may hold decrypted bytes that no poll sees.
  func receive(into buffer: UnsafeMutableRawBufferPointer) -> Progress {
    text.pointee = 0
    var count = 0
    let result = curl_easy_recv(handle, buffer.baseAddress, buffer.count, &count)
    if result == CURLE_OK { return count > 0 ? .bytes(count) : .ended }
    if result == CURLE_AGAIN { return .wait }
    let problem = problem(result)
    // Many servers hang up without TLS's own goodbye.
    return problem.text.contains(text: "unexpected eof while reading") ? .ended : .failed(problem)
  }

  /// libcurl fills its error buffer once. What goes wrong on the open connection it only says to a debug function.
  func listenToRemarks() {
    gw_easy_set_debug_function(handle) { _, kind, line, length, text in
      guard kind == CURLINFO_TEXT, let line, let text else { return 0 }
      let length = min(length, Int(CURL_ERROR_SIZE) - 1)
      memcpy(text, line, length)
      text.storeBytes(of: 0, toByteOffset: length, as: CChar.self)
      return 0
    }
    gw_easy_set_pointer(handle, CURLOPT_DEBUGDATA, text)
    gw_easy_set_long(handle, CURLOPT_VERBOSE, 1)
  }

  // MARK: - Phases

  /// libcurl's own limit only shares out the time among the addresses of a host; it never ends a phase before ours
  /// does.
  func allowConnecting(phases: Int) {
    let limit = (multi.loop.time.now - started).milliseconds &+ limits.connecting.milliseconds &* Int64(phases)
    gw_easy_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, limit)))
  }

  /// Nothing reaches the kernel from that instant on, until another one is set.
  func mayWrite(until limit: MonotonicInstant) {
    if writeLimit == nil { multi.limits(self) }
    writeLimit = limit
    limitKernel()
  }

  /// libcurl does not wait for that socket any more, and may close it.
  func isUnwatched(_ descriptor: Int32) {
    if socket == descriptor { socket = nil }
  }

  /// The socket of a resolved name is watched for writing alone until TCP is connected.
  func isWatched(_ descriptor: Int32, for interest: EventLoop.Readiness) {
    socket = descriptor
    limitKernel()
    if interest.contains(.readable), gw_easy_time(handle, CURLINFO_NAMELOOKUP_TIME_T) > 0 { isConnected = true }
    advance()
  }

  /// Looks where the work has got to; a new phase has its own time.
  func advance() {
    let now = reached
    guard now != phase else { return }
    if phase == .name { multi.resolved(self) }
    phase = now
    if now != .tcp { allowConnecting(phases: 2) }
    arm(now == .answer ? limits.answer : limits.connecting)
  }

  /// What the work has got to, whether it was noticed or not.
  var reached: CurlProblem.Phase {
    if isAnswering { return .answer }
    if isEncrypting { return .tls }
    if proxy != nil, isConnected { return .proxy }
    return gw_easy_time(handle, CURLINFO_NAMELOOKUP_TIME_T) > 0 ? .tcp : .name
  }

  private func encrypts() {
    isEncrypting = true
    advance()
  }

  /// libcurl is about to write the request.
  func ready() -> Consent {
    isAnswering = true
    advance()
    limitKernel()
    return isInTime() ? onReady() : .stop
  }

  private func arm(_ limit: Duration) {
    multi.loop.timers.cancel(timer)
    timer = multi.loop.timers.after(limit) { [weak self] in self?.timePassed() }
  }

  /// A phase that began unnoticed has its time still before it.
  private func timePassed() {
    let before = phase
    advance()
    if phase == before { finish(CurlProblem(kind: .timedOut(phase), text: "", proxy: proxy)) }
  }

  // MARK: - The end

  /// libcurl is done.
  func finish(code: UInt32) {
    if isLate { return finish(CurlProblem(kind: .late, text: "", proxy: proxy)) }
    finish(code == CURLE_OK.rawValue ? nil : problem(CURLcode(code)))
  }

  /// Tells the outcome, once.
  func finish(_ problem: CurlProblem?) {
    multi.loop.timers.cancel(timer)
    timer = nil
    let onDone = onDone
    self.onDone = nil
    onDone?(problem)
  }
}
