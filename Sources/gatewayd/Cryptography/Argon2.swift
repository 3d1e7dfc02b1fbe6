import CArgon2

/// Argon2id as libargon2 works it out (RFC 9106, version 1.3).
enum Argon2 {
  /// One lane; memory in KiB. Nil when the library refuses, as for want of memory. Takes its time; callable on any thread.
  static func id(password: [UInt8], salt: [UInt8], iterations: Int, memory: Int, length: Int) -> [UInt8]? {
    guard let iterations = UInt32(exactly: iterations), let memory = UInt32(exactly: memory) else { return nil }
    var hash = [UInt8](repeating: 0, count: length)
    let result = argon2id_hash_raw(
      iterations, memory, 1, password, password.count, salt, salt.count, &hash, hash.count)
    return result == ARGON2_OK.rawValue ? hash : nil
  }
}
