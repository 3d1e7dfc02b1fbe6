import CLinux
import GatewayCore
import Glibc

/// How much memory the daemon occupies. Asking the kernel takes as long as a call does otherwise, so that an answer is
/// good for `validity`.
final class ResidentMemory {
  static let validity: Duration = .milliseconds(100)

  private let time: any TimeSource
  private let read: () -> Int
  private var last: (bytes: Int, at: MonotonicInstant)?

  init(time: any TimeSource, read: @escaping () -> Int = ResidentMemory.fromKernel) {
    self.time = time
    self.read = read
  }

  /// Bytes; 0 where the kernel does not say.
  var bytes: Int {
    let now = time.now
    if let last, now < last.at + Self.validity { return last.bytes }
    let bytes = read()
    last = (bytes, now)
    return bytes
  }

  /// From `/proc/self/statm`.
  static func fromKernel() -> Int {
    let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return 0 }
    defer { close(descriptor) }
    var text = [UInt8](repeating: 0, count: 128)
    let count = Glibc.read(descriptor, &text, text.count)
    guard count > 0 else { return 0 }
    let fields = text.prefix(count).split(separator: UInt8(ascii: " "))
    guard fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)) else { return 0 }
    return pages * sysconf(Int32(_SC_PAGESIZE))
  }
}

/// Lets the allocator keep memory of large messages from one to the next while they follow each other: a page that
/// comes fresh from the kernel costs several times what is done with it, and a message of a megabyte has a few hundred
/// of them.
///
/// What is kept is what malloc(3) keeps: blocks up to `blockLimit` come from its own memory, of which up to `freeLimit`
/// may be free at the end, and any amount between what is in use. That is all given back one to two times `restLimit`
/// after the last large message that was noted. What a local client sends is noted from `LineBuffer.longLine` on; what
/// is large but is neither that nor written to a local client together is not noted, and what waits in a queue or in a
/// history may be freed much later: `lookAfter` finds what was left then.
final class WarmMemory {
  /// Blocks from this size on never stay; smaller ones do, until they are given back.
  private static let blockLimit: Int32 = 4 << 20
  /// Free memory beyond this goes back at once.
  private static let freeLimit: Int32 = 8 << 20
  /// Free memory that is found later and is less than this stays, in bytes.
  static let leftoverLimit = 2 << 20
  /// How long no large message has to come before the memory is given back.
  static let restLimit: Duration = .seconds(1)

  private let timers: Timers
  private let giveBack: () -> Void
  private let freeBytes: () -> Int
  /// What was free when memory had been given back the last time: malloc counts on what it keeps only the addresses of.
  private var freeAfterwards = 0
  private var timer: Timers.ID?
  private(set) var wasUsed = false

  init(
    timers: Timers, giveBack: @escaping () -> Void = { gw_give_back_memory() },
    freeBytes: @escaping () -> Int = { gw_free_memory() }
  ) {
    self.timers = timers
    self.giveBack = giveBack
    self.freeBytes = freeBytes
  }

  /// Sets up the process's allocator; to be called once, before there are threads.
  static func prepare() { gw_keep_memory(blockLimit, freeLimit) }

  /// A large message is under way.
  func noteUse() {
    wasUsed = true
    if timer == nil { rest() }
  }

  /// To be called now and then: gives back what was freed and not noted.
  func lookAfter() {
    let free = freeBytes()
    freeAfterwards = min(freeAfterwards, free)
    if free - freeAfterwards >= Self.leftoverLimit { noteUse() }
  }

  private func rest() {
    timer = timers.after(Self.restLimit) { [weak self] in self?.rested() }
  }

  private func rested() {
    timer = nil
    guard !wasUsed else {
      wasUsed = false
      return rest()
    }
    giveBack()
    freeAfterwards = freeBytes()
  }
}
