/// Which hosts hold what was entered in one conversation, such as rooms: it is left when no host holds it any more.
struct FleetRooms {
  /// A message that enters something. Equal where all bytes are, and hashed once: it may be long.
  struct Entering: Hashable {
    let message: PreparedMessage
    private let hash: Int

    init(_ message: PreparedMessage) {
      self.message = message
      var hasher = Hasher()
      for part in [Array(message.event.utf8), message.body] + message.attachments {
        hasher.combine(part.count)
        part.withUnsafeBytes { hasher.combine(bytes: $0) }
      }
      hash = hasher.finalize()
    }

    static func == (a: Self, b: Self) -> Bool {
      a.hash == b.hash && a.message.event.utf8.elementsEqual(b.message.event.utf8) && a.message.body == b.message.body
        && a.message.attachments == b.message.attachments
    }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
  }

  /// That a host holds it.
  private struct Hold {
    /// What undoes it if the host does not live to say so itself.
    var leave: PreparedLeave?
    /// What it counts.
    var bytes: Int
    /// Orders what a host holds.
    var number: UInt64
  }

  private struct Room {
    var holds: [String: Hold] = [:]
    /// What undoes it by the word of a host that has gone before the others.
    var leave: PreparedLeave?
  }

  private struct Host {
    var entered: Set<Entering> = []
    var bytes = 0
  }

  private var rooms: [Entering: Room] = [:]
  /// What each host holds.
  private var hosts: [String: Host] = [:]
  private var bytes = 0
  private var lastNumber: UInt64 = 0

  /// Most that is kept of one host, in messages and in bytes, each message with what it takes besides and what undoes it.
  /// What is more is not counted: it is written, but a `leave` of another host ends it.
  static let hostLimit = (count: 16_384, bytes: 16 << 20)
  /// Most that is kept of all hosts, in bytes.
  static let byteLimit = 256 << 20
  private static let overhead = 256

  /// A host enters it, perhaps once more.
  mutating func enter(_ entering: Entering, _ host: String, leave: PreparedLeave?) {
    let known = rooms[entering]?.holds[host]
    let undoing = leave ?? known?.leave
    let size = Self.overhead + entering.message.byteCount + (undoing?.message.byteCount ?? 0)
    let more = size - (known?.bytes ?? 0)
    let (count, hostBytes) = (hosts[host]?.entered.count ?? 0, hosts[host]?.bytes ?? 0)
    guard known != nil || count < Self.hostLimit.count, hostBytes + more <= Self.hostLimit.bytes,
      bytes + more <= Self.byteLimit
    else { return }
    lastNumber += 1
    rooms[entering, default: Room()].holds[host] = Hold(
      leave: undoing, bytes: size, number: known?.number ?? lastNumber)
    hosts[host, default: Host()].entered.insert(entering)
    hosts[host]?.bytes += more
    bytes += more
  }

  /// A host does not hold it any more. Returns what is to be written now: nothing while another host holds it. What this one
  /// would have had said for it does not count beside its own word.
  mutating func leave(_ entering: Entering, _ host: String, by leave: PreparedLeave?) -> PreparedLeave? {
    release(entering, host)
    return undo(entering, by: leave)
  }

  /// What a host holds, in the order in which it was entered, and what undoes it if the host does not live to say so.
  func held(by host: String) -> [(entering: Entering, leave: PreparedLeave?)] {
    let all = (hosts[host]?.entered ?? []).compactMap { entering in
      rooms[entering]?.holds[host].map { (number: $0.number, entering: entering, leave: $0.leave) }
    }
    return all.sorted { $0.number < $1.number }.map { (entering: $0.entering, leave: $0.leave) }
  }

  /// Whether a host holds it.
  func isHeld(_ entering: Entering, by host: String) -> Bool { rooms[entering]?.holds[host] != nil }

  /// Whether any host does. For tests.
  func isHeld(_ entering: Entering) -> Bool { rooms[entering] != nil }

  @discardableResult
  private mutating func release(_ entering: Entering, _ host: String) -> Hold? {
    guard let hold = rooms[entering]?.holds.removeValue(forKey: host) else { return nil }
    bytes -= hold.bytes
    hosts[host]?.entered.remove(entering)
    hosts[host]?.bytes -= hold.bytes
    if hosts[host]?.entered.isEmpty == true { hosts[host] = nil }
    return hold
  }

  /// What undoes it, if no host holds it; else that is kept for when none does.
  private mutating func undo(_ entering: Entering, by leave: PreparedLeave?) -> PreparedLeave? {
    guard let room = rooms[entering] else { return leave }
    guard !room.holds.isEmpty else {
      rooms[entering] = nil
      bytes -= room.leave?.message.byteCount ?? 0
      return leave ?? room.leave
    }
    guard let leave else { return nil }
    let more = leave.message.byteCount - (room.leave?.message.byteCount ?? 0)
    guard bytes + more <= Self.byteLimit else { return nil }
    rooms[entering]?.leave = leave
    bytes += more
    return nil
  }
}
