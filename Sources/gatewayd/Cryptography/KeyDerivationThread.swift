import GatewayCore
import Glibc

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
