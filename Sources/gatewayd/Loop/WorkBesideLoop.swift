import Glibc

/// Does pieces of work beside the loop, each on a thread that lives for it alone. For what takes long and comes seldom.
final class WorkBesideLoop {
  /// What a thread is given. Only the thread touches it until its number was posted, and then only the loop.
  private final class Order {
    let number: UInt64
    let work: () -> Void
    let mailbox: Mailbox<UInt64>?

    init(_ number: UInt64, _ work: @escaping () -> Void, _ mailbox: Mailbox<UInt64>?) {
      self.number = number
      self.work = work
      self.mailbox = mailbox
    }
  }

  private let loop: EventLoop
  private var mailbox: Mailbox<UInt64>?
  private var source: EventLoop.IOSource?
  private var last: UInt64 = 0
  /// What is to be called on the loop, by the number of the work.
  private var waiting: [UInt64: () -> Void] = [:]

  init(_ loop: EventLoop) { self.loop = loop }

  /// `work` on another thread, then `done` on the loop, not before this method has returned. Where there can be no
  /// thread `work` is done in the next turn. To be called on the loop.
  func perform(_ work: @escaping () -> Void, _ done: @escaping () -> Void) {
    last += 1
    guard let mailbox = openMailbox(), Self.start(Order(last, work, mailbox)) else {
      return loop.onNextTurn {
        work()
        done()
      }
    }
    waiting[last] = done
  }

  /// Closes a descriptor of a file whose last name is gone, which gives back what it takes on the disk. The loop does
  /// not wait for it. Callable from any thread.
  func close(_ descriptor: Int32) {
    var facts = stat()
    let isLong = fstat(descriptor, &facts) == 0 && facts.st_nlink == 0 && facts.st_size > Self.shortLimit
    guard isLong, Self.start(Order(0, { Glibc.close(descriptor) }, nil)) else {
      Glibc.close(descriptor)
      return
    }
  }

  /// Giving back a file of so many bytes takes no noticeable time.
  private static let shortLimit = 4 << 20

  private static func start(_ order: Order) -> Bool {
    var thread = pthread_t()
    let given = Unmanaged.passRetained(order)
    let result = pthread_create(
      &thread, nil,
      { given in
        guard let given else { return nil }
        // What it holds is let go of by the loop, which may have more of it.
        let order = Unmanaged<Order>.fromOpaque(given).takeRetainedValue()
        order.work()
        order.mailbox?.post(order.number)
        return nil
      }, given.toOpaque())
    guard result == 0 else {
      given.release()
      return false
    }
    pthread_detach(thread)
    return true
  }

  private func openMailbox() -> Mailbox<UInt64>? {
    if let mailbox { return mailbox }
    do throws(SystemError) {
      let mailbox = try Mailbox<UInt64>()
      source = try loop.receive(from: mailbox) { [unowned self] number in waiting.removeValue(forKey: number)?() }
      self.mailbox = mailbox
      return mailbox
    } catch { return nil }
  }
}
