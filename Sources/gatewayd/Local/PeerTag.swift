/// Finds a local client's slot again, in an epoll event or in an output. A slot that was given to somebody else in the
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
