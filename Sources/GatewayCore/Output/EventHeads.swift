/// The beginnings of event notifications, each once for all subscriptions whose id is the same, as most are called `s1`.
/// The fan-out thus finds them in the processor's cache, and can put one line together for all of them.
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
