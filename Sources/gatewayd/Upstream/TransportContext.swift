import GatewayCore

/// What all transports of one loop stand on: libcurl, memory for their bytes, and a list of those that are saying
/// goodbye.
final class TransportContext {
  /// What they run on.
  var loop: EventLoop { multi.loop }
  /// What they connect with: proxies and certificates are known there.
  let multi: CurlMulti
  /// How long a goodbye may take: the rest of the output, a closing word, the peer's answer.
  let closeLimit: Duration
  /// What they may hold of what others send and do not read.
  let memory: MemoryBudgets
  /// What messages took that took long.
  let work: MatchingCost
  /// Memory for their output.
  let blocks = SendQueue.Pool()
  /// Where a read puts its bytes; they are used up before the next read, whichever transport makes it.
  let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

  /// Transports that were let go of and are still saying goodbye, by their sockets.
  private var leaving: [ObjectIdentifier: any TransportSocket.Owner] = [:]
  private var onQuiet: (() -> Void)?

  init(
    multi: CurlMulti, closeLimit: Duration = .seconds(1), memory: MemoryBudgets = MemoryBudgets(),
    work: MatchingCost = MatchingCost()
  ) {
    self.multi = multi
    self.memory = memory
    self.work = work
    self.closeLimit = closeLimit
  }

  deinit { readBuffer.deallocate() }

  /// What a transport holds of messages that have not ended.
  func receiveMemory(for request: DialRequest) -> MemoryHold { MemoryHold(memory.receive, for: request.account) }

  /// A proxy that cannot be used is reported by the attempt.
  func firstHost(of request: DialRequest) -> String {
    let proxy = try? multi.proxies.proxy(for: request)
    return proxy?.host ?? request.host
  }

  /// Calls back once, later, when no transport is saying goodbye any more: after `closeLimit` at the latest, counted
  /// from the last one's beginning.
  func whenQuiet(_ body: @escaping () -> Void) {
    onQuiet = body
    if leaving.isEmpty { loop.onNextTurn { [weak self] in self?.checkQuiet() } }
  }

  /// Keeps a transport alive until `closeEnded`.
  func closeBegan(_ socket: TransportSocket, of owner: any TransportSocket.Owner) {
    leaving[ObjectIdentifier(socket)] = owner
  }

  /// Lets go of a transport; of one that never said goodbye, nothing is held.
  func closeEnded(_ socket: TransportSocket) {
    guard leaving.removeValue(forKey: ObjectIdentifier(socket)) != nil else { return }
    checkQuiet()
  }

  private func checkQuiet() {
    guard leaving.isEmpty, let body = onQuiet else { return }
    onQuiet = nil
    body()
  }
}
