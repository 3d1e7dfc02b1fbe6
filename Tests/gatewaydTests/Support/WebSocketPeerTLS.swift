import CTLS
import Glibc

@testable import gatewayd

/// The server's side of TLS for a `WebSocketPeer`, with certificates that `openssl` makes once for all tests.
final class WebSocketPeerTLS: @unchecked Sendable {
  /// Certificates in a directory of their own.
  struct Files: Sendable {
    let directory: String
    var authority: String { directory + "/ca.pem" }
    /// For the names `localhost` and `gateway.test` and the address 127.0.0.1.
    var certificate: String { directory + "/server.pem" }
    var key: String { directory + "/server.key" }
    var clientCertificate: String { directory + "/client.pem" }
    var clientKey: String { directory + "/client.key" }
    /// The client's key behind the password `open sesame`.
    var lockedKey: String { directory + "/locked.key" }
    /// The hash of the server's public key.
    let pin: String
    /// An authority that signed none of them.
    var stranger: String { directory + "/stranger.pem" }
  }

  static let files: Files = {
    var name = Array("/tmp/gatewayd-tls-XXXXXX".utf8CString)
    guard mkdtemp(&name) != nil else { fatalError("no temporary directory") }
    let directory = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let script = """
      set -e
      cd \(directory)
      key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
      openssl req -x509 $key -keyout ca.key -out ca.pem -days 2 -subj /CN=authority
      openssl req -x509 $key -keyout stranger.key -out stranger.pem -days 2 -subj /CN=stranger
      printf 'subjectAltName=DNS:localhost,DNS:gateway.test,IP:127.0.0.1' > names
      for who in server client; do
        openssl req $key -keyout $who.key -out $who.csr -subj /CN=$who
        openssl x509 -req -in $who.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out $who.pem
      done
      openssl pkcs8 -topk8 -in client.key -out locked.key -passout 'pass:open sesame'
      printf sha256// > pin
      openssl x509 -in server.pem -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary \\
        | openssl base64 -A >> pin
      """
    atexit { _ = system("rm -rf '\(WebSocketPeerTLS.files.directory)'") }
    guard system("(\(script)) >\(directory)/log 2>&1") == 0 else { fatalError("openssl failed, see \(directory)/log") }
    var pin = [CChar](repeating: 0, count: 64)
    let stream = fopen(directory + "/pin", "r")
    fgets(&pin, Int32(pin.count), stream)
    fclose(stream)
    return Files(
      directory: directory, pin: String(decoding: pin.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
  }()

  private let context: OpaquePointer
  private let breaksOff: Bool

  /// With `wantsClient`, clients must show a certificate of our authority. With `breaksOff`, a record that cannot be decrypted
  /// follows the end of the handshake in the same packet, where the server has the last word of it: before TLS 1.3.
  init(wantsClient: Bool = false, newestVersion: Int32 = TLS1_3_VERSION, breaksOff: Bool = false) throws {
    self.breaksOff = breaksOff
    guard let context = SSL_CTX_new(TLS_server_method()) else { throw WebSocketPeer.Gone() }
    self.context = context
    let files = Self.files
    SSL_CTX_use_certificate_chain_file(context, files.certificate)
    SSL_CTX_use_PrivateKey_file(context, files.key, SSL_FILETYPE_PEM)
    SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(newestVersion), nil)
    if newestVersion < TLS1_2_VERSION {
      SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(newestVersion), nil)
      SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0")
    }
    if wantsClient {
      SSL_CTX_load_verify_locations(context, files.authority, nil)
      SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    }
  }

  deinit { SSL_CTX_free(context) }

  /// Nil when the handshake failed.
  func accept(_ descriptor: Int32) -> OpaquePointer? {
    let ssl = SSL_new(context)
    SSL_set_fd(ssl, descriptor)
    if breaksOff { hold(descriptor, 1) }
    if SSL_accept(ssl) == 1 {
      guard breaksOff else { return ssl }
      let record: [UInt8] = [0x17, 3, 3, 0, 32] + [UInt8](repeating: 0, count: 32)
      _ = record.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      hold(descriptor, 0)
      return ssl
    }
    SSL_free(ssl)
    return nil
  }

  /// Whether packets that are not full wait for more, for a moment at least.
  private func hold(_ descriptor: Int32, _ isHeld: Int32) {
    var isHeld = isHeld
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CORK, &isHeld, socklen_t(MemoryLayout<Int32>.size))
  }
}
