import CArgon2
import CCrypto
import CStringprep

/// The primitives of libcrypto.
enum OpenSSL {
  static func sha1(_ data: [UInt8]) -> [UInt8] { bytes(20) { gw_sha1(data, data.count, $0) } }

  static func sha256(_ data: [UInt8]) -> [UInt8] { bytes(32) { gw_sha256(data, data.count, $0) } }

  static func hmacSHA256(key: [UInt8], _ data: [UInt8]) -> [UInt8] {
    bytes(32) { _ = gw_hmac_sha256(key, key.count, data, data.count, $0) }
  }

  /// PBKDF2 with HMAC-SHA-256; nil when the library refuses. Takes its time; callable on any thread.
  static func pbkdf2(password: [UInt8], salt: [UInt8], iterations: Int, length: Int) -> [UInt8]? {
    bytes(length) {
      gw_pbkdf2_sha256(password, password.count, salt, salt.count, Int32(clamping: iterations), $0, length) == 1
    }
  }

  /// The public key of a private Ed25519 key of 32 bytes; nil for one that is none.
  static func ed25519PublicKey(_ key: [UInt8]) -> [UInt8]? {
    guard key.count == 32 else { return nil }
    return bytes(32) { gw_ed25519_public_key(key, $0) == 1 }
  }

  static func ed25519Sign(_ message: [UInt8], key: [UInt8]) -> [UInt8]? {
    guard key.count == 32 else { return nil }
    return bytes(64) { gw_ed25519_sign(key, message, message.count, $0) == 1 }
  }

  /// So many bytes as `fill` writes them.
  private static func bytes(_ count: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Void) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    bytes.withUnsafeMutableBufferPointer { if let place = $0.baseAddress { fill(place) } }
    return bytes
  }

  /// The same; nil where it says that there are none.
  private static func bytes(_ count: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Bool) -> [UInt8]? {
    var isFilled = false
    let bytes = bytes(count) { (place: UnsafeMutablePointer<UInt8>) -> Void in isFilled = fill(place) }
    return isFilled ? bytes : nil
  }
}

/// Argon2id as libargon2 works it out (RFC 9106, version 1.3).
enum Argon2 {
  /// One lane; memory in KiB. Nil when the library refuses, as for want of memory. Takes its time; callable on any
  /// thread.
  static func id(password: [UInt8], salt: [UInt8], iterations: Int, memory: Int, length: Int) -> [UInt8]? {
    guard let iterations = UInt32(exactly: iterations), let memory = UInt32(exactly: memory) else { return nil }
    var hash = [UInt8](repeating: 0, count: length)
    let result = argon2id_hash_raw(
      iterations, memory, 1, password, password.count, salt, salt.count, &hash, hash.count)
    return result == ARGON2_OK.rawValue ? hash : nil
  }
}

/// The preparation of names and passwords (RFC 4013), as libidn does it.
enum SASLprep {
  /// For a text that is not stored, in which characters that Unicode 3.2 did not know are allowed; nil for one with
  /// forbidden characters.
  static func prepare(_ text: String) -> String? {
    guard !text.utf8.allSatisfy({ (0x20..<0x7f).contains($0) }) else { return text }
    var output: UnsafeMutablePointer<CChar>?
    guard !text.utf8.contains(0),
      stringprep_profile(text, &output, "SASLprep", Stringprep_profile_flags(rawValue: 0)) == 0,
      let output
    else { return nil }
    defer { free(output) }
    return String(cString: output)
  }
}
