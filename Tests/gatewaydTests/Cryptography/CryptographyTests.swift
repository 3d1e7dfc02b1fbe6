import Testing

@testable import GatewayCore
@testable import gatewayd

private func hex(_ text: String) throws -> [UInt8] { try #require(Hexadecimal.decode(text)) }

@Suite struct CryptographyTests {
  /// RFC 8032 section 7.1, TEST 1 and TEST 2.
  @Test(arguments: [
    (
      "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        + "d25bf5f0595bbe24655141438e7a100b"
    ),
    (
      "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
        + "387b2eaeb4302aeeb00d291612bb0c00"
    ),
  ])
  func ed25519SignsAsItsSpecificationShows(_ key: String, _ publicKey: String, _ message: String, _ signature: String)
    throws
  {
    #expect(OpenSSL.ed25519PublicKey(try hex(key)) == (try hex(publicKey)))
    #expect(OpenSSL.ed25519Sign(try hex(message), key: try hex(key)) == (try hex(signature)))
  }

  @Test func aKeyOfAnotherLengthIsNone() {
    #expect(OpenSSL.ed25519PublicKey([1, 2]) == nil)
    #expect(OpenSSL.ed25519Sign([], key: []) == nil)
  }

  /// From the tests of the reference implementation.
  @Test func argon2idHashesAsTheReferenceDoes() throws {
    let hash = Argon2.id(
      password: Array("password".utf8), salt: Array("somesalt".utf8), iterations: 2, memory: 65_536, length: 32)
    #expect(hash == (try hex("09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7")))
  }

  @Test func argon2idWithoutMemoryIsRefused() {
    #expect(Argon2.id(password: [1], salt: Array("somesalt".utf8), iterations: 1, memory: 0, length: 32) == nil)
    #expect(Argon2.id(password: [1], salt: Array("somesalt".utf8), iterations: -1, memory: 8, length: 32) == nil)
  }

  @Test func theDigestsAreThoseOfTheirSpecification() throws {
    #expect(OpenSSL.sha1(Array("abc".utf8)) == (try hex("a9993e364706816aba3e25717850c26c9cd0d89d")))
    #expect(
      OpenSSL.sha256(Array("abc".utf8))
        == (try hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")))
    // RFC 4231 section 4.3.
    #expect(
      OpenSSL.hmacSHA256(key: Array("Jefe".utf8), Array("what do ya want for nothing?".utf8))
        == (try hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")))
  }

  /// RFC 4013 section 3.
  @Test(arguments: [
    ("I\u{ad}X", "IX"), ("user", "user"), ("USER", "USER"), ("\u{aa}", "a"), ("\u{2168}", "IX"), ("Größe", "Größe"),
  ])
  func namesArePreparedAsTheSpecificationShows(_ text: String, _ prepared: String) {
    #expect(SASLprep.prepare(text) == prepared)
  }

  @Test(arguments: ["\u{7}", "\u{627}1", "a\u{0}b"])
  func forbiddenNamesAreRefused(_ text: String) { #expect(SASLprep.prepare(text) == nil) }

  @Test func aKeyIsWorkedOutBesideTheLoop() throws {
    let loop = try EventLoop()
    let cryptography = SystemCryptography(loop: loop)
    var keys: [[UInt8]?] = []
    for iterations in [4_096, 1] {
      cryptography.derive(
        .pbkdf2(password: Array("pencil".utf8), salt: Array("salt".utf8), iterations: iterations, length: 20),
        for: .user(1), while: { true }
      ) { key in
        keys.append(key)
        if keys.count == 3 { loop.exit(0) }
      }
    }
    cryptography.derive(
      .argon2id(password: [], salt: [], iterations: 1, memory: 256, length: 32), for: .user(1), while: { false }
    ) { _ in Issue.record("nobody wants it any more") }
    cryptography.derive(
      .argon2id(password: [], salt: [], iterations: 1, memory: 8, length: 32), for: .user(1), while: { true }
    ) { key in
      keys.append(key)
      if keys.count == 3 { loop.exit(0) }
    }
    #expect(keys.isEmpty)
    _ = try loop.run()
    #expect(keys.count == 3)
    #expect(
      keys[0]
        == OpenSSL.pbkdf2(
          password: Array("pencil".utf8), salt: Array("salt".utf8), iterations: 4_096, length: 20))
    #expect(keys[1]?.count == 20)
    #expect(keys[2] == .some(nil))
  }

  @Test func aLoginDoesNotWaitForTheManyKeysOfAnotherUser() throws {
    let loop = try EventLoop()
    let cryptography = SystemCryptography(loop: loop)
    var ended: [String] = []
    func derive(_ name: String, for account: Account) {
      cryptography.derive(
        .pbkdf2(password: [1], salt: [2], iterations: 1_000, length: 20), for: account, while: { true }
      ) { _ in
        ended.append(name)
        if ended.count == 14 { loop.exit(0) }
      }
    }
    for number in 1...12 { derive("a\(number)", for: .user(1)) }
    derive("b", for: .user(2))
    derive("c", for: .configuration)
    _ = try loop.run()
    #expect(ended.prefix(5) == ["a1", "a2", "b", "c", "a3"])
  }
}
