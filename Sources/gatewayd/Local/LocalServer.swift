import CLinux
import GatewayCore
import Glibc

/// Serves the local protocol on any number of listening sockets. Listeners and clients are members of one inner epoll
/// set, which the loop watches as a single descriptor: batches of ready clients, then one write for each that has
/// output.
final class LocalServer {
  /// Why newcomers cannot be served at the moment.
  enum Trouble: Equatable {
    /// The process has no descriptor left; the newcomer was told and closed.
    case noDescriptor
    /// The kernel refused for another reason; accepting rests for `restLimit`.
    case failed(SystemError)
  }

  /// Told about trouble, for the log.
  var onTrouble: ((Trouble) -> Void)?

  private let epoll: Epoll
  let peers: LocalPeers
  private let timers: Timers
  private let time: any TimeSource
  private var listeners: [Int32] = []
  private var spare = SpareDescriptor()
  private var source: EventLoop.IOSource?

  /// Clients that have their turn before it is looked how long that took.
  private static let batchLimit = 8
  /// Newcomers accepted from one listener per turn.
  private static let acceptLimit = 64
  /// How long accepting rests when the kernel cannot serve it.
  private static let restLimit: Duration = .milliseconds(250)

  /// - Parameter flushLimit: as in `LocalPeers`.
  init(gateway: Gateway, loop: EventLoop, flushLimit: Int = LocalPeers.flushLimit) throws(SystemError) {
    epoll = try Epoll(of: "a local client")
    timers = loop.timers
    time = loop.time
    peers = LocalPeers(
      gateway: gateway, epoll: epoll, timers: loop.timers, time: loop.time, flushLimit: flushLimit)
    source = try loop.addIO(epoll.descriptor, .readable) { [unowned self, unowned loop] _ in
      serve(for: loop.hasWritesLeft ? LocalPeers.turnLimitAmongWrites : LocalPeers.turnLimit)
      if !loop.hasWritesLeft { loop.hasWritesLeft = peers.flush() }
    }
    loop.beforeSleep = { [peers, outputs = gateway.outputs] loop in
      if outputs.hasDirty { loop.noteRecipient(outputs.onlyDirty?.pointee.tag) }
      loop.hasWritesLeft = peers.flush()
    }
    loop.writesDue = { gateway.outputs.dirtyCount }
    peers.onUnfinished = { [unowned loop, unowned self] in loop.afterOthers { [weak self] in self?.peers.goOn() } }
    peers.isAnyoneWaiting = { [unowned loop] in loop.isAnyoneReady(besides: $0) }
  }

  /// Open sockets of local clients, those included that only wait for their end to be read.
  var clientCount: Int { peers.count }
  /// Local clients whose conversation is not over.
  var sessionCount: Int { peers.sessionCount }

  /// Accepts clients from a listening, non-blocking socket, which stays the caller's.
  func listen(on descriptor: Int32) throws(SystemError) {
    try epoll.add(descriptor, .readable, tag: PeerTag.listener(listeners.count).bits)
    listeners.append(descriptor)
  }

  /// Leaves further newcomers in the backlog, for the next daemon that listens on the same socket.
  func stopAccepting() {
    listeners.forEach(epoll.remove)
    listeners = []
  }

  /// Puts the conversations of all clients into a parcel. Returns how many.
  func handOver(in parcel: HandoverParcel) throws(SystemError) -> Int { try peers.handOver(in: parcel) }

  /// Lets go of all sockets, which are another daemon's now.
  func abandonClients() { peers.abandonAll() }

  /// What became of a client of another daemon.
  enum TakingOver {
    /// The conversation goes on, or comes to the end that it had begun.
    case goesOn
    /// The client gets what it was being sent, and is told to come again.
    case told
    /// Its socket could only be closed.
    case closed
  }

  /// Goes on with a conversation of another daemon on its socket.
  func takeOver(_ client: HandoverDocument.Client, on socket: HandoverParcel.Socket) -> TakingOver {
    do throws(SystemError) { return try peers.takeOver(client, on: socket) ? .goesOn : .told } catch {
      onTrouble?(.failed(error))
      return .closed
    }
  }

  /// Ends a conversation of another daemon with which this one cannot go on.
  func turnAway(_ client: HandoverDocument.LeftOver, on socket: HandoverParcel.Socket) -> TakingOver {
    takeOver(.leftOver(client), on: socket) == .closed ? .closed : .told
  }

  /// The same of a client of whom nothing is known. It is closed where a word within a line would be understood as a
  /// part of it.
  func turnAway(_ socket: HandoverParcel.Socket) -> TakingOver {
    guard !socket.isWithinLine else {
      Glibc.close(socket.descriptor)
      return .closed
    }
    return turnAway(HandoverDocument.LeftOver(socket: 0, output: []), on: socket)
  }

  /// Writes what is pending now, without waiting for the loop to do it.
  func flush() {
    for _ in 0...peers.count / peers.flushLimit { peers.flush() }
  }

  /// Closes a client's socket at once, whatever it has not read.
  func close(_ session: LocalSession) { peers.close(session) }

  /// Batch by batch, so that clients that are always ready cannot hold those that are not among them, nor the loop.
  private func serve(for limit: Duration) {
    let end = time.received + limit
    var count: Int
    repeat {
      count = epoll.wait(atMost: Self.batchLimit) { bits, readiness in
        let tag = PeerTag(bits)
        if let index = tag.listenerIndex { accept(index) } else { peers.ready(tag, readiness) }
      }
    } while count == Self.batchLimit && time.now < end
  }

  private func accept(_ index: Int) {
    guard index < listeners.count else { return }
    for _ in 0..<Self.acceptLimit {
      let descriptor = gw_accept(listeners[index])
      guard descriptor >= 0 else { return acceptFailed(index) }
      do throws(SystemError) {
        try peers.admit(descriptor)
      } catch {
        onTrouble?(.failed(error))
      }
    }
  }

  private func acceptFailed(_ index: Int) {
    let error = SystemError("accept a local client")
    switch error.code {
    // No client is waiting, or the one that was is gone: the next turn finds the others.
    case EAGAIN, EINTR, ECONNABORTED: return
    case EMFILE, ENFILE:
      let listener = listeners[index]
      if spare.lend({ Self.turnAway(listener) }) { onTrouble?(.noDescriptor) } else { rest(index, error) }
    default: rest(index, error)
    }
  }

  /// Longest line, in bytes, to a client that is turned away: less than any `limits.line`.
  private static let turningAwayLimit = 1 << 10

  private static func turnAway(_ listener: Int32) {
    let descriptor = gw_accept(listener)
    guard descriptor >= 0 else { return }
    let words = LocalReply.error(
      nil, LocalError(.quotaExceeded, "the daemon has no file descriptor left: try again later, or raise LimitNOFILE="),
      limit: Self.turningAwayLimit)
    _ = words.withUnsafeBytes { LocalSocket.write(descriptor, $0) }
    Glibc.close(descriptor)
  }

  private func rest(_ index: Int, _ error: SystemError) {
    onTrouble?(.failed(error))
    let listener = listeners[index]
    epoll.remove(listener)
    timers.after(Self.restLimit) { [weak self] in
      guard let self, index < listeners.count, listeners[index] == listener else { return }
      try? epoll.add(listener, .readable, tag: PeerTag.listener(index).bits)
    }
  }
}

/// One descriptor held in reserve: when the process has none left, it is given up for a moment so that a newcomer can
/// be accepted, told why and closed, instead of waiting in the backlog and waking the loop for ever.
struct SpareDescriptor: ~Copyable {
  private var descriptor: Int32

  init() { descriptor = Self.reserve() }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Runs `body` while the descriptor is free for something else. False when there was none to give up.
  mutating func lend(_ body: () -> Void) -> Bool {
    guard descriptor >= 0 else {
      descriptor = Self.reserve()
      return false
    }
    close(descriptor)
    body()
    descriptor = Self.reserve()
    return true
  }

  private static func reserve() -> Int32 { open("/dev/null", O_RDONLY | O_CLOEXEC) }
}
