import CLinux
import GatewayCore

/// Memory of large messages, kept from one to the next while they follow each other: a page that comes fresh from the
/// kernel costs several times what is done with it, and a message of a megabyte has a thousand of them. What is not used
/// for `restLimit` goes back.
final class WarmMemory {
  /// Blocks from this size on never stay; smaller ones do, until they are given back.
  private static let blockLimit: Int32 = 4 << 20
  /// Free memory beyond this goes back at once.
  private static let freeLimit: Int32 = 8 << 20
  /// How long no large message has to come before the memory is given back.
  static let restLimit: Duration = .seconds(1)

  private let timers: Timers
  private let giveBack: () -> Void
  private var timer: Timers.ID?
  private var wasUsed = false

  init(timers: Timers, giveBack: @escaping () -> Void = { gw_give_back_memory() }) {
    self.timers = timers
    self.giveBack = giveBack
  }

  /// Sets up the process's allocator; to be called once, before there are threads.
  static func prepare() { gw_keep_memory(blockLimit, freeLimit) }

  /// A large message is under way.
  func noteUse() {
    wasUsed = true
    if timer == nil { rest() }
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
  }
}
