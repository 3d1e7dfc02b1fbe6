import Testing

@testable import GatewayCore

/// Keeps what was observed.
private final class Notebook: UpstreamObserver {
  let wantsPayloads: Bool
  private(set) var facts: [TraceFact] = []

  init(payloads: Bool = false) { wantsPayloads = payloads }

  func observed(_ fact: TraceFact) { facts.append(fact) }

  /// `in engine PING`, since the last look.
  func take() -> [String] {
    defer { facts = [] }
    return facts.map {
      "\($0.direction.rawValue) \($0.layer.rawValue) \($0.text)" + ($0.payload.map { " | \($0)" } ?? "")
    }
  }
}

/// What an observer is told of a Socket.IO connection.
@Suite struct LinkTraceTests {
  private let rig = SocketIORig()

  /// A joined connection whose every step was observed.
  private func observed() -> (SocketIORig.Connection, Notebook) {
    let notebook = Notebook()
    let connection = SocketIORig.Connection(rig.kind.connector(for: rig.specification("/chat")))
    connection.connector.observer = notebook
    connection.dial()
    rig.transport.open()
    rig.transport.receive(SocketIORig.handshake, #"40/chat,{"sid":"socket-id"}"#)
    return (connection, notebook)
  }

  @Test func aNameOfManyMegabytesIsCutByItsBytes() throws {
    let (connection, notebook) = observed()
    defer { withExtendedLifetime(connection) {} }
    _ = notebook.take()
    // One character, for whoever counts characters.
    rig.transport.receive(#"42/chat,["e\#(String(repeating: "\u{301}", count: 1 << 20))"]"#)
    let told = notebook.take()
    #expect(told.count == 1)
    #expect(told.allSatisfy { $0.utf8.count < 256 && $0.utf8.starts(with: "in socketio EVENT e\u{301}".utf8) })
  }

  @Test func aWholeConversationIsToldInWords() throws {
    let (connection, notebook) = observed()
    try connection.send("say", #"["hello",{"a":1}]"#, ack: 7)
    rig.transport.receive("2", #"43/chat,0["ok"]"#, #"42/chat,["said","x",1]"#, "41/chat,")
    #expect(
      notebook.take() == [
        "out http DIAL http://h:80/socket.io/?EIO=4&transport=websocket",
        "in http OPEN websocket",
        "in engine HANDSHAKE Engine.IO 4, ping every 25000 ms, time-out 20000 ms, at most 1000 bytes",
        "out socketio CONNECT /chat",
        "in socketio CONNECT /chat (payload of 19 bytes)",
        "out socketio EVENT say (2 args, 23 bytes) ack 0",
        "in engine PING",
        "out engine PONG",
        "in socketio ACK 0 (1 arg, 6 bytes)",
        "in socketio EVENT said (2 args, 14 bytes)",
        "in socketio DISCONNECT /chat",
        "out http CLOSE",
        "in socketio END kicked: the server disconnected the namespace /chat",
      ])
  }

  @Test func payloadsAreShownWithoutSecrets() throws {
    let notebook = Notebook(payloads: true)
    let connection = SocketIORig.Connection(
      rig.kind.connector(
        for: rig.specification {
          $0.auth = .inline(Array(#"{"token":"s3cret-token"}"#.utf8))
          $0.headers = [HTTPHeader(name: "Authorization", value: "Bearer b3arer-value")]
          $0.query = [.init(name: "key", value: "qu€ry-key")]
        }))
    connection.connector.observer = notebook
    connection.dial()
    rig.transport.open()
    rig.transport.receive(SocketIORig.handshake, #"40{"sid":"socket-id","pid":"private"}"#)
    try connection.send("say", #"["s3cret-token","b3arer-value","qu€ry-key","open"]"#)
    let facts = notebook.take()
    #expect(facts.contains(#"out socketio EVENT say (4 args, 58 bytes) | ["say","***","***","***","open"]"#))
    #expect(facts.contains(#"out socketio CONNECT / (payload of 24 bytes) | {"token":"***"}"#))
    #expect(facts.contains(#"in socketio CONNECT / (payload of 35 bytes) | {"sid":"***","pid":"***"}"#))
    #expect(facts[0] == "out http DIAL http://h:80/socket.io/?EIO=4&transport=websocket&key=***, headers Authorization")
    for secret in ["s3cret", "b3arer", "ry-key", "socket-id", "private"] {
      #expect(!facts.contains { $0.contains(secret) }, "\(secret)")
    }
  }

  @Test func credentialsInTheQueryOfANamespaceAreHidden() {
    let notebook = Notebook(payloads: true)
    let connection = SocketIORig.Connection(rig.kind.connector(for: rig.specification("/c?token=s3cret")))
    connection.connector.observer = notebook
    connection.dial()
    rig.transport.open()
    rig.transport.receive(SocketIORig.oldHandshake, "40")
    let facts = notebook.take()
    #expect(facts.contains("out socketio CONNECT /c?***"))
    #expect(!facts.contains { $0.contains("s3cret") })
  }

  @Test func credentialsInTheQueryOfANamespaceAreHiddenInMessagePackToo() {
    let notebook = Notebook(payloads: true)
    let connection = SocketIORig.Connection(
      rig.kind.connector(for: rig.specification("/c?token=s3cret") { $0.parser = .msgpack }))
    connection.connector.observer = notebook
    connection.dial()
    rig.transport.open()
    rig.transport.receive(SocketIORig.handshake)
    var facts = notebook.take()
    #expect(facts.contains { $0.hasPrefix("out socketio CONNECT /c?***") })
    #expect(!facts.contains { $0.contains("s3cret") })

    // In revision 3 the observed namespace has no query, that of its CONNECT does.
    let trace = LinkTrace()
    trace.tell(
      [LinkTrace.Observed(namespace: Array("/c".utf8), observer: notebook)], request: rig.transport.request, secrets: []
    )
    trace.sent(msgpack: .connect, Array("/c?token=s3cret".utf8), ack: nil, size: 0)
    facts = notebook.take()
    #expect(facts.count == 1 && facts[0].hasPrefix("out socketio CONNECT /c?***"))
  }

  @Test func whatIsSentAsMessagePackIsShownAsWhatComes() throws {
    let notebook = Notebook(payloads: true)
    let connection = SocketIORig.Connection(
      rig.kind.connector(
        for: rig.specification("/c") {
          $0.parser = .msgpack
          $0.auth = .inline(Array(#"{"token":"s3cret-token"}"#.utf8))
        }))
    connection.connector.observer = notebook
    connection.dial()
    rig.transport.open()
    rig.transport.receive(SocketIORig.handshake)
    let accepted = Array(#"{"type":0,"nsp":"/c","data":{"sid":"socket-id"}}"#.utf8)
    rig.transport.receive(binary: try MsgpackWriter.write(accepted.span.bytes, binaryLimit: 0))
    try connection.send("say", #"["s3cret-token",{"$bin":"AQID"},1]"#, ack: 7)
    let sent = notebook.facts.filter { $0.direction == .outgoing && $0.layer == .socketio }
    #expect(
      sent.map(\.text) == ["CONNECT /c (payload of 24 bytes)", "EVENT say (3 args, 40 bytes) ack 0"])
    #expect(sent.map(\.payload) == [#"{"token":"***"}"#, #"["say","***",{"$bin":"AQID"},1]"#])
    #expect(sent.map(\.subject) == [.link, .event("say")])
  }

  @Test func aLongPacketInMessagePackIsNotPutIntoJSON() throws {
    let notebook = Notebook(payloads: true)
    let trace = LinkTrace()
    trace.tell([LinkTrace.Observed(namespace: [], observer: notebook)], request: rig.transport.request, secrets: [])
    let event = Array(#"["e","\#(String(repeating: "x", count: 1 << 20))"]"#.utf8)
    let data = try MsgpackWriter.write(event.span.bytes, binaryLimit: 0)
    var output = MsgpackOutput()
    MsgpackPacket.append(.event, namespace: [], ack: nil, data: data, to: &output)
    trace.sent(.event, [], ack: nil, msgpack: output.bytes.span.bytes, size: data.count)
    #expect(notebook.take() == ["out socketio EVENT / (\(data.count) bytes of MessagePack)"])
  }

  @Test func otherNamespacesOfTheLinkAreNotTold() throws {
    let notebook = Notebook()
    let one = rig.joined("/a")
    let other = rig.connection("/b")
    rig.transport.receive(#"40/b,{"sid":"socket"}"#)
    one.connector.observer = notebook
    try other.send("b")
    rig.transport.receive(#"42/b,["b"]"#, #"42/a,["a"]"#)
    #expect(notebook.take() == ["in socketio EVENT a (0 args, 5 bytes)"])
    one.connector.observer = nil
    rig.transport.receive(#"42/a,["a"]"#, "2")
    #expect(notebook.take() == [])
  }

  @Test func failuresAndTheEndAreTold() {
    let notebook = Notebook()
    let connection = SocketIORig.Connection(rig.kind.connector(for: rig.specification()))
    connection.connector.observer = notebook
    connection.dial()
    rig.transport.fail(UpstreamFailure(.unreachable, "connection refused"))
    #expect(
      notebook.take().dropFirst() == [
        "in http CLOSED unreachable: connection refused", "in socketio END unreachable: connection refused",
      ])
    connection.dial()
    rig.transport.open()
    rig.transport.receive(SocketIORig.handshake, #"40{"sid":"s"}"#)
    _ = notebook.take()
    connection.close()
    #expect(notebook.take() == ["out socketio DISCONNECT /", "out http CLOSE"])
  }

  @Test func attachmentsAreCounted() throws {
    let notebook = Notebook()
    let connection = rig.joined()
    connection.connector.observer = notebook
    try connection.send("image", #"[{"$bin":"AQID"}]"#)
    #expect(notebook.take() == ["out socketio EVENT image (1 arg, 39 bytes, 1 attachment)"])
  }

  @Test func longPayloadsAreCut() {
    let notebook = Notebook(payloads: true)
    let connection = rig.joined()
    connection.connector.observer = notebook
    rig.transport.receive(#"42["e",""# + String(repeating: "x", count: 100_000) + #""]"#)
    #expect(notebook.facts.first?.payload?.utf8.count == TraceFact.payloadLimit + 3)
  }
}
