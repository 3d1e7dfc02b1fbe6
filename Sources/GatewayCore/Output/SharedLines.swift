/// Lines that the outputs of many clients point to instead of copying them, one behind the other until all of them are
/// written: a client that gets all events of a connection gets one stretch of this memory. Decision 0081.
struct SharedLines: ~Copyable {
  /// A line, valid until `clear`.
  struct Line {
    let bytes: UnsafeMutableRawBufferPointer
  }

  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private var used = 0
  private var wasUsed = false
  /// Bytes for lines that are not written yet. Further ones are copied. A turn reads 64 KiB from a server, which become half as
  /// much again.
  static let limit = 256 << 10

  deinit { memory.deallocate() }

  /// Puts a line together of two pieces. Nil when there is no room.
  @inline(__always)
  mutating func add(_ head: UnsafeRawBufferPointer, _ tail: UnsafeRawBufferPointer) -> Line? {
    let count = head.count &+ tail.count
    guard count <= memory.count &- used || hasRoom(for: count), let base = memory.baseAddress,
      let first = head.baseAddress, let second = tail.baseAddress
    else { return nil }
    let place = base + used
    place.copyMemory(from: first, byteCount: head.count)
    (place + head.count).copyMemory(from: second, byteCount: tail.count)
    used &+= count
    return Line(bytes: UnsafeMutableRawBufferPointer(start: place, count: count))
  }

  /// Makes the memory when there is none.
  @inline(never)
  private mutating func hasRoom(for count: Int) -> Bool {
    guard memory.count == 0, count <= Self.limit else { return false }
    memory = .allocate(byteCount: Self.limit, alignment: 16)
    return true
  }

  /// No output points to the lines any more. Returns whether they were the first since the last `releaseIdle`.
  mutating func clear() -> Bool {
    guard used > 0 else { return false }
    used = 0
    defer { wasUsed = true }
    return !wasUsed
  }

  /// Frees the memory if there was no line since the last call. Returns whether there still is any.
  mutating func releaseIdle() -> Bool {
    defer { wasUsed = false }
    guard !wasUsed, used == 0 else { return memory.count > 0 }
    memory.deallocate()
    memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    return false
  }
}

/// The beginnings of event notifications, each once for all subscriptions whose id is the same, as most are called
/// `s1`. The fan-out thus finds them in the processor's cache, and can put one line together for all of them.
final class EventHeads {
  private struct Entry {
    let bytes: UnsafeRawBufferPointer
    var users: Int
  }

  private var entries: [[UInt8]: Entry] = [:]

  deinit { entries.values.forEach { $0.bytes.deallocate() } }

  /// How many different ones there are.
  var count: Int { entries.count }

  /// The head for a subscription's id. To be given back as often as it was taken.
  func take(_ subscription: String) -> UnsafeRawBufferPointer {
    let text = LocalNotification.eventHead(subscription: subscription)
    var entry = entries[text] ?? Entry(bytes: Self.copy(text), users: 0)
    entry.users += 1
    entries[text] = entry
    return entry.bytes
  }

  /// Frees the head with its last user.
  func giveBack(_ head: UnsafeRawBufferPointer) {
    let text = [UInt8](head)
    guard var entry = entries[text] else { return }
    entry.users -= 1
    entries[text] = entry.users > 0 ? entry : nil
    if entry.users == 0 { entry.bytes.deallocate() }
  }

  private static func copy(_ text: [UInt8]) -> UnsafeRawBufferPointer {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
    copy.copyBytes(from: text)
    return UnsafeRawBufferPointer(copy)
  }
}
