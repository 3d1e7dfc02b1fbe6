import CArgon2
import CCrypto
import CStringprep

/// The primitives of libcrypto.
enum OpenSSL {
  static func sha1(_ data: [UInt8]) -> [UInt8] { digest(data, EVP_sha1(), size: Int(SHA_DIGEST_LENGTH)) }

  static func sha256(_ data: [UInt8]) -> [UInt8] { digest(data, EVP_sha256(), size: Int(SHA256_DIGEST_LENGTH)) }

  static func hmacSHA256(key: [UInt8], _ data: [UInt8]) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    HMAC(EVP_sha256(), key, Int32(clamping: key.count), data, data.count, &code, nil)
    return code
  }

  /// PBKDF2 with HMAC-SHA-256; nil when the library refuses. Takes its time; callable on any thread.
  static func pbkdf2(password: [UInt8], salt: [UInt8], iterations: Int, length: Int) -> [UInt8]? {
    var key = [UInt8](repeating: 0, count: length)
    let password = password.map { CChar(bitPattern: $0) }
    let result = PKCS5_PBKDF2_HMAC(
      password, Int32(clamping: password.count), salt, Int32(clamping: salt.count), Int32(clamping: iterations),
      EVP_sha256(), Int32(clamping: length), &key)
    return result == 1 ? key : nil
  }

  /// The public key of a private Ed25519 key of 32 bytes; nil for one that is none.
  static func ed25519PublicKey(_ key: [UInt8]) -> [UInt8]? {
    withKey(key) { pair in
      var publicKey = [UInt8](repeating: 0, count: 32)
      var count = publicKey.count
      return EVP_PKEY_get_raw_public_key(pair, &publicKey, &count) == 1 && count == 32 ? publicKey : nil
    }
  }

  static func ed25519Sign(_ message: [UInt8], key: [UInt8]) -> [UInt8]? {
    withKey(key) { pair in
      guard let context = EVP_MD_CTX_new() else { return nil }
      defer { EVP_MD_CTX_free(context) }
      var signature = [UInt8](repeating: 0, count: 64)
      var count = signature.count
      guard EVP_DigestSignInit(context, nil, nil, nil, pair) == 1,
        EVP_DigestSign(context, &signature, &count, message, message.count) == 1, count == 64
      else { return nil }
      return signature
    }
  }

  private static func withKey(_ key: [UInt8], _ body: (OpaquePointer) -> [UInt8]?) -> [UInt8]? {
    guard key.count == 32, let pair = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, key, key.count) else {
      return nil
    }
    defer { EVP_PKEY_free(pair) }
    return body(pair)
  }

  private static func digest(_ data: [UInt8], _ algorithm: OpaquePointer?, size: Int) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: size)
    EVP_Digest(data, data.count, &digest, nil, algorithm, nil)
    return digest
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
