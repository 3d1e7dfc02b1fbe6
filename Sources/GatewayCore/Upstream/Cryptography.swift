/// The primitives that authentication needs. The daemon takes them from OpenSSL, libargon2 and libidn.
public protocol Cryptography: AnyObject {
  /// FIPS 180-4; 32 bytes.
  func sha256(_ data: [UInt8]) -> [UInt8]
  /// RFC 2104 with SHA-256; 32 bytes.
  func hmacSHA256(key: [UInt8], _ data: [UInt8]) -> [UInt8]
  /// The public key of an Ed25519 key (RFC 8032 section 5.1.5), 32 bytes each; nil for one that is none.
  func ed25519PublicKey(_ key: [UInt8]) -> [UInt8]?
  /// 64 bytes (RFC 8032 section 5.1.6); nil for a key that is none.
  func ed25519Sign(_ message: [UInt8], key: [UInt8]) -> [UInt8]?
  /// SASLprep (RFC 4013) for a text that is not stored; nil for one that it forbids.
  func saslPrepared(_ text: String) -> String?
  /// Works a key out of a password, which may take seconds, and may have to wait for its turn in a round over users.
  /// Calls back once, later, with nil when it failed; what `isWanted` says no to when its turn comes is dropped without
  /// a word.
  func derive(
    _ derivation: KeyDerivation, for account: Account, while isWanted: @escaping () -> Bool,
    _ done: @escaping ([UInt8]?) -> Void)
}

/// How a key is to be worked out of a password. Holds a secret.
public enum KeyDerivation: Equatable, Sendable {
  /// RFC 8018 section 5.2 with HMAC-SHA-256.
  case pbkdf2(password: [UInt8], salt: [UInt8], iterations: Int, length: Int)
  /// RFC 9106, version 1.3, one lane; memory in KiB.
  case argon2id(password: [UInt8], salt: [UInt8], iterations: Int, memory: Int, length: Int)
}

/// What a router may ask for when it names the cost of a key: less would give the password away to a third party that
/// hears the answer, more would keep a core busy for minutes.
enum KeyDerivationCost {
  /// Iterations of PBKDF2 for SCRAM (RFC 7677 section 4).
  static let scramIterations = 4_096...2_000_000
  /// Iterations of PBKDF2 for a salted WAMP-CRA, whose usual number is 1,000.
  static let craIterations = 1_000...2_000_000
  /// KiB that Argon2id fills, times its passes.
  static let argon2Work = 8_192...8_388_608
  /// KiB of Argon2id.
  static let argon2Memory = 8...262_144

  /// Why a number of iterations is not worked out; nil if it is.
  static func problem(iterations: Int, _ allowed: ClosedRange<Int>) -> String? {
    if iterations < allowed.lowerBound {
      return "the router asked for only \(iterations) iterations, fewer than \(allowed.lowerBound)"
    }
    if iterations > allowed.upperBound {
      return "the router asked for \(iterations) iterations, more than \(allowed.upperBound)"
    }
    return nil
  }

  /// The same for Argon2id.
  static func problem(iterations: Int, memory: Int) -> String? {
    let (work, overflow) = iterations.multipliedReportingOverflow(by: memory)
    guard iterations >= 1, argon2Memory.contains(memory), !overflow, work <= argon2Work.upperBound else {
      return "the router asked for a cost of Argon2id that is out of bounds"
    }
    return work < argon2Work.lowerBound ? "the router asked for too low a cost of Argon2id" : nil
  }
}
