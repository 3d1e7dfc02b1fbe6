import Testing

@testable import GatewayCore

/// What is advised to write in place of a URL's scheme.
@Suite struct URLSchemesTests {
  @Test(
    arguments: [
      ("http", "ws:// or http://", "wss:// or https://"), ("https", "ws:// or http://", "wss:// or https://"),
      ("wss", "ws:// or http://", "wss:// or https://"), ("tcp", "tcp://", "tls://"), ("tls", "tcp://", "tls://"),
      ("raw+ws", "raw+ws://", "raw+wss://"), ("raw+wss", "raw+ws://", "raw+wss://"),
      ("wamp+wss", "wamp+ws://", "wamp+wss://"),
    ] as [(String, String, String)])
  func theAdviceForAPortWithoutTLSIsTheSameKindInClear(_ scheme: String, _ clear: String, _ secure: String) {
    let url = UpstreamURL(scheme: scheme, host: "h")
    let schemes = DialTarget(url, path: "/", UpstreamSettings()).request().schemes
    #expect(schemes.clear == clear)
    #expect(schemes.secure == secure)
  }

  @Test func aRawServerThatSpeaksTLSIsToBeReachedByTheSecureSchemeOfItsKind() {
    let dial = DialTarget(UpstreamURL(scheme: "raw+ws", host: "h"), path: "/", UpstreamSettings()).request()
    let alert: [UInt8] = [0x15, 0x03, 0x01]
    #expect(
      UpstreamFailure.foreignAnswer(alert.span.bytes, to: dial)
        == UpstreamFailure(.tls, "the server speaks TLS on this port: use raw+wss://"))
  }
}
