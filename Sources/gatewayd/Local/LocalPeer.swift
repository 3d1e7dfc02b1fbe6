import GatewayCore

/// One local client's socket. Plain data in one contiguous table; what the client is and may do is its session's.
struct LocalPeer {
  /// How far the end of the connection has come.
  enum Phase {
    /// The slot is free. May become `open`.
    case vacant
    /// Lines are read, output is written. May become `halfClosed`, `leaving`, `lingering` or `vacant`.
    case open
    /// The client will send nothing more; output is still written. May become `leaving` or `vacant`.
    case halfClosed
    /// The session is over: what is pending is still written, input is ignored, until the deadline. May become
    /// `lingering` or `vacant`.
    case leaving
    /// Everything is written and our direction is shut; input is read and thrown away until the client closes or the
    /// deadline comes, so that the client reads our last words instead of a reset. May become `vacant`.
    case lingering
  }

  var phase = Phase.vacant
  /// What the socket is watched for. Without `readable` in `open`, reading is held because the client does not take
  /// its output; with `writable`, output waits for room in the kernel.
  var interest: Epoll.Readiness = []
  var descriptor: Int32 = -1
  var generation: UInt32 = 0
  var session: LocalSession?
  /// The beginning of a line whose end has not come yet; nil for an idle client, which then costs nothing.
  var input: RequestBuffer?
  /// What it counts as; made for the first line that came in pieces.
  var inputMemory: MemoryHold?
  /// What was read but not looked at, because the client does not take its answers, or because others had their turn.
  /// At most one read's worth.
  var pendingInput = PendingInput()
  /// The client will send nothing more, and waits with its last line until it takes its output.
  var isAtEnd = false
  /// Whether epoll tells of it. Not while the client is gone and what it said before is still acted upon.
  var isWatched = true
  /// It goes on in the next turn.
  var isPostponed = false
}

/// Finds a local client's slot again, in an epoll event or in an output. A slot that was given to another client in the
/// meantime has another generation, so a late event cannot reach the wrong client.
struct PeerTag: Hashable {
  let slot: UInt32
  let generation: UInt32

  init(slot: UInt32, generation: UInt32) {
    self.slot = slot
    self.generation = generation
  }

  /// From an epoll event.
  init(_ bits: UInt64) {
    self.init(slot: UInt32(truncatingIfNeeded: bits), generation: UInt32(truncatingIfNeeded: bits >> 32))
  }

  /// From `ClientOutput.tag`.
  init(_ tag: Int) { self.init(UInt64(UInt(bitPattern: tag))) }

  var bits: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
  var number: Int { Int(truncatingIfNeeded: bits) }

  /// Listeners have slots of their own, counted from the end, which no client reaches.
  static func listener(_ index: Int) -> PeerTag { PeerTag(slot: .max - UInt32(index), generation: 0) }

  /// Which listener it is; nil for a client.
  var listenerIndex: Int? { slot > UInt32.max - 1_024 ? Int(UInt32.max - slot) : nil }
}
