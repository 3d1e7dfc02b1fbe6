import GatewayCore
import Glibc

/// The primitives of the system's libraries. Keys are worked out of passwords one after the other on a thread beside
/// the loop, which exists only while there is something to do. Whose is the next goes round over users.
final class SystemCryptography: Cryptography {
  private let loop: EventLoop
  private var mailbox: Mailbox<[UInt8]?>?
  private var source: EventLoop.IOSource?
  private var waiting = UserRound<Order>()
  /// The one that is being worked on.
  private var present: Order?

  private struct Order {
    let derivation: KeyDerivation
    let isWanted: () -> Bool
    let done: ([UInt8]?) -> Void
  }

  init(loop: EventLoop) { self.loop = loop }

  func sha256(_ data: [UInt8]) -> [UInt8] { OpenSSL.sha256(data) }
  func hmacSHA256(key: [UInt8], _ data: [UInt8]) -> [UInt8] { OpenSSL.hmacSHA256(key: key, data) }
  func ed25519PublicKey(_ key: [UInt8]) -> [UInt8]? { OpenSSL.ed25519PublicKey(key) }
  func ed25519Sign(_ message: [UInt8], key: [UInt8]) -> [UInt8]? { OpenSSL.ed25519Sign(message, key: key) }
  func saslPrepared(_ text: String) -> String? { SASLprep.prepare(text) }

  /// Attempts that ended meanwhile cost no key: of each connection at most one is worked out, whatever waits.
  func derive(
    _ derivation: KeyDerivation, for account: Account, while isWanted: @escaping () -> Bool,
    _ done: @escaping ([UInt8]?) -> Void
  ) {
    waiting.removeAll { !$0.isWanted() }
    waiting.append(Order(derivation: derivation, isWanted: isWanted, done: done), for: account)
    if present == nil { startNext() }
  }

  private func startNext() {
    waiting.removeAll { !$0.isWanted() }
    present = waiting.popFirst()
    guard let present else { return }
    guard let mailbox = openMailbox() else {
      return loop.onNextTurn { [weak self] in self?.finish(nil) }
    }
    KeyDerivationThread.start(present.derivation, mailbox)
  }

  private func openMailbox() -> Mailbox<[UInt8]?>? {
    if let mailbox { return mailbox }
    do throws(SystemError) {
      let mailbox = try Mailbox<[UInt8]?>()
      source = try loop.receive(from: mailbox) { [weak self] in self?.finish($0) }
      self.mailbox = mailbox
      return mailbox
    } catch { return nil }
  }

  private func finish(_ key: [UInt8]?) {
    guard let done = present?.done else { return }
    startNext()
    done(key)
  }
}

/// Works one key out of a password on a thread of its own, and posts it. Decision 0055.
final class KeyDerivationThread {
  /// What the thread is given, and where it puts what it made.
  private final class Work {
    let derivation: KeyDerivation
    let mailbox: Mailbox<[UInt8]?>

    init(_ derivation: KeyDerivation, _ mailbox: Mailbox<[UInt8]?>) {
      self.derivation = derivation
      self.mailbox = mailbox
    }
  }

  /// The thread ends by itself after it has posted the key, or nil when there is none.
  static func start(_ derivation: KeyDerivation, _ mailbox: Mailbox<[UInt8]?>) {
    var thread = pthread_t()
    let work = Unmanaged.passRetained(Work(derivation, mailbox))
    let result = pthread_create(
      &thread, nil,
      { work in
        guard let work = work.map({ Unmanaged<Work>.fromOpaque($0).takeRetainedValue() }) else { return nil }
        work.mailbox.post(KeyDerivationThread.derive(work.derivation))
        return nil
      }, work.toOpaque())
    guard result == 0 else {
      work.release()
      return mailbox.post(nil)
    }
    pthread_detach(thread)
  }

  private static func derive(_ derivation: KeyDerivation) -> [UInt8]? {
    switch derivation {
    case .pbkdf2(let password, let salt, let iterations, let length):
      OpenSSL.pbkdf2(password: password, salt: salt, iterations: iterations, length: length)
    case .argon2id(let password, let salt, let iterations, let memory, let length):
      Argon2.id(password: password, salt: salt, iterations: iterations, memory: memory, length: length)
    }
  }
}
