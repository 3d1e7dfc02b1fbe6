/// What was written in one conversation of the holder and may not have reached the server's machine, in its order.
struct FleetUnseen {
  struct Write: Equatable {
    var sender: FleetSender
    /// Its outcome is that it was written: no acknowledgement is awaited.
    var isAll: Bool
  }

  /// A write, and how far the link has to get.
  private struct Marked {
    var write: Write
    var mark: Int
  }

  private static let droppedAtOnce = 512

  private var writes = Ring<Marked>()
  /// Bytes that the link was given and did not take at once.
  private var given = 0
  /// Bytes that the link had not taken when it ended; nil before.
  private(set) var lastUnsent: Int?

  /// The server's machine has everything.
  var isEmpty: Bool { writes.isEmpty }

  /// Something was written.
  /// - Parameter bytes: what the link has not taken of it.
  mutating func append(_ write: Write, bytes: Int = 0) {
    given += bytes
    writes.append(Marked(write: write, mark: given))
  }

  /// Forgets the first ones, whose outcome nobody waits for any more: as many as one turn has time for.
  mutating func dropPortion() {
    for _ in 0..<min(Self.droppedAtOnce, writes.count) { _ = writes.popFirst() }
  }

  /// The link ends.
  mutating func end(unsent: Int) { lastUnsent = unsent }

  /// The first one, where the server's machine has it by now.
  /// - Parameter unsent: bytes that the link has not taken.
  mutating func takeSeen(unsent: Int) -> Write? {
    guard let first = writes.first, first.mark <= given - unsent else { return nil }
    _ = writes.popFirst()
    return first.write
  }
}
