@testable import GatewayCore
import Testing

@testable import gatewayd

/// Bytes to a real Redis server and back.
@Suite(.enabled(if: RedisServer.program != nil, Comment(rawValue: RedisServer.missing)))
struct RESPTransportTests {
  private func dialing() throws -> WebSocketDialing { try WebSocketDialing(carrying: .resp) }

  private func command(_ words: String...) -> [UInt8] {
    var writer = RESPWriter()
    writer.write("ECHO") { for word in words { $0.append(word) } }
    return writer.bytes
  }

  @Test func aServerAnswersWhatItIsAsked() throws {
    let server = try RedisServer()
    let dialing = try dialing()
    #expect(try dialing.open(WebSocketDialing.request(server.port)) == nil)
    #expect(dialing.opened.map(\.name) == ["resp"])
    dialing.send(command("one"))
    dialing.send(command("two"))
    #expect(try dialing.run { dialing.binaries.joined().count == 18 })
    #expect(Array(dialing.binaries.joined()) == Array("$3\r\none\r\n$3\r\ntwo\r\n".utf8))
    #expect(dialing.callsFromWithin == 0)
  }

  @Test func aLongAnswerComesInSmallPieces() throws {
    let server = try RedisServer()
    let dialing = try dialing()
    try dialing.open(WebSocketDialing.request(server.port))
    let text = String(repeating: "x", count: 1 << 20)
    dialing.send(command(text))
    let expected = Array("$\(1 << 20)\r\n\(text)\r\n".utf8)
    #expect(try dialing.run { dialing.binaries.reduce(0) { $0 + $1.count } == expected.count })
    #expect(Array(dialing.binaries.joined()) == expected)
    #expect(dialing.binaries.allSatisfy { $0.count <= 4_096 })
  }

  @Test func whatWaitsForTheServerTakesNothingOfTheMemoryForSends() throws {
    let server = try RedisServer()
    let dialing = try dialing()
    try dialing.open(WebSocketDialing.request(server.port))
    dialing.send(command(String(repeating: "x", count: 1 << 20)))
    let unsent = try #require(dialing.transport).unsentBytes
    #expect(unsent > 1 << 20 && dialing.context.memory.send.used == 0)
  }

  @Test func throughTLSItIsTheSame() throws {
    let server = try RedisServer(isSecure: true)
    let dialing = try dialing()
    #expect(try dialing.open(WebSocketDialing.request(server.port, host: "localhost", secure: true)) == nil)
    #expect(dialing.opened.first?.tlsVersion == "TLSv1.3")
    dialing.send(command("one"))
    #expect(try dialing.run { !dialing.binaries.isEmpty })
    #expect(Array(dialing.binaries.joined()) == Array("$3\r\none\r\n".utf8))
  }

  @Test func anotherAuthorityIsRefused() throws {
    let server = try RedisServer(isSecure: true)
    var request = WebSocketDialing.request(server.port, host: "localhost", secure: true)
    request.tls.ca = .file(WebSocketPeerTLS.files.stranger)
    #expect(try dialing().failure(request).failure.reason == .tls)
  }

  @Test func aServerThatDiesEndsTheConnection() throws {
    let server = try RedisServer()
    let dialing = try dialing()
    try dialing.open(WebSocketDialing.request(server.port))
    server.kill()
    #expect(try dialing.run { !dialing.closed.isEmpty })
    #expect(dialing.closed.map(\.failure.reason) == [.closed])
  }

  @Test func whatWasSentBeforeTheEndStillLeaves() throws {
    let server = try RedisServer()
    let (first, second) = (try dialing(), try dialing())
    try first.open(WebSocketDialing.request(server.port))
    try second.open(WebSocketDialing.request(server.port))
    var writer = RESPWriter()
    writer.write("SET") {
      $0.append("key")
      $0.append(String(repeating: "x", count: 1 << 20))
    }
    first.send(writer.bytes)
    first.close()
    try first.becomeQuiet()
    writer.removeAll()
    writer.write("STRLEN") { $0.append("key") }
    // The server may not have come to it yet.
    let expected = Array(":1048576\r\n".utf8)
    second.onBinary = { [command = writer.bytes] in if $0 != expected { second.send(command) } }
    second.send(writer.bytes)
    #expect(try second.run { second.binaries.last == expected })
    second.onBinary = { _ in }
  }
}
