import Testing

@testable import GatewayCore

private func sentence(_ specification: UpstreamSpecification) -> String? {
  switch SocketIOKind.traits.problem(specification) {
  case .invalid(let sentence), .outdated(let sentence): sentence
  case .tooLarge, .tooLargeForFleet: "too large"
  case nil: nil
  }
}

@Test func unusableNamespacesAreRefused() {
  let rig = SocketIORig()
  let rows: [(String, String?)] = [
    ("/", nil), ("/admin", nil), ("/ns with space?", nil), ("/é", nil),
    ("/" + String(repeating: "x", count: 1_023), nil),
    ("", "a Socket.IO namespace begins with /"),
    ("admin", "a Socket.IO namespace begins with /"),
    ("/a,b", "a Socket.IO namespace cannot hold a comma"),
    ("/a,\u{301}b", "a Socket.IO namespace cannot hold a comma"),
    ("/a\nb", "a Socket.IO namespace cannot hold control characters"),
    ("/" + String(repeating: "x", count: 1_024), "a Socket.IO namespace is at most 1024 bytes long"),
  ]
  for (namespace, expected) in rows {
    #expect(sentence(rig.specification(namespace)) == expected, "\(namespace.prefix(20))")
  }
}

@Test func settingsThatCannotWorkAreRefused() {
  let rig = SocketIORig()
  let user = UpstreamURL(scheme: "http", userInfo: "u:p", host: "h")
  #expect(sentence(rig.specification { $0.transports = [.polling] }) == nil)
  #expect(sentence(rig.specification { $0.path = "socket.io" }) == "the HTTP path begins with /")
  #expect(sentence(rig.specification(url: UpstreamURL(scheme: "http", host: ""))) == "the URL names no host")
  #expect(
    sentence(rig.specification { $0.query = [QueryItem(name: "EIO", value: "3")] })
      == "the query parameter EIO is used by the connection itself")
  #expect(
    sentence(rig.specification(url: UpstreamURL(scheme: "http", host: "h", query: "a=1&%73id=x")))
      == "the query parameter sid is used by the connection itself")
  #expect(sentence(rig.specification(url: UpstreamURL(scheme: "http", host: "h", query: "x=sid&Sid=1&"))) == nil)
  #expect(sentence(rig.specification { $0.auth = .inline([UInt8]("[]".utf8)) }) == "auth must be a JSON object")
  #expect(sentence(rig.specification { $0.auth = .inline([UInt8](" {\"a\":1} ".utf8)) }) == nil)
  #expect(
    sentence(rig.specification(url: user) { $0.headers = [HTTPHeader(name: "authorization", value: "x")] })
      == "the URL has a user name and the configuration an Authorization header: only one of them can be sent")
  #expect(sentence(rig.specification(url: user)) == nil)
}

private func request(_ url: UpstreamURL, _ change: (inout UpstreamSettings) -> Void = { _ in }) -> DialRequest {
  LinkKey(SocketIORig().specification(url: url, change)).request(.four, .websocket)
}

@Test func targetsAreBuiltFromPathAndQueries() {
  let target = "?EIO=4&transport=websocket"
  #expect(request(UpstreamURL(scheme: "http", host: "h")).target == "/socket.io/" + target)
  #expect(
    request(UpstreamURL(scheme: "http", host: "h")) { $0.path = "/a b/?%41é" }.target == "/a%20b/%3F%41%C3%A9" + target)
  #expect(
    request(UpstreamURL(scheme: "http", host: "h", query: "x=1&y=%20a b")) {
      $0.query = [QueryItem(name: "&a", value: "&=?a")]
    }.target == "/socket.io/" + target + "&%26a=%26%3D%3Fa&x=1&y=%20a%20b")
}

@Test func dialRequestsFollowTheURL() {
  let tls = request(UpstreamURL(scheme: "https", userInfo: "us er:pä", host: "h")) {
    $0.headers = [HTTPHeader(name: "X", value: "y")]
    $0.handshake = .seconds(3)
    $0.messageLimit = 77
  }
  var expected = DialRequest(
    secure: true, host: "h", port: 443, target: "/socket.io/?EIO=4&transport=websocket",
    headers: [
      HTTPHeader(name: "X", value: "y"), HTTPHeader(name: "Authorization", value: "Basic dXMgZXI6cMOk"),
    ], tls: TLSSettings(), phaseLimit: .seconds(3), messageLimit: 77)
  expected.compressionThreshold = 1_024
  #expect(tls == expected)
  #expect(request(UpstreamURL(scheme: "ws", host: "h")) { $0.compression.enabled = false }.compressionThreshold == nil)
  #expect(request(UpstreamURL(scheme: "ws", host: "::1", port: 8_080)).port == 8_080)
  #expect(request(UpstreamURL(scheme: "wss", host: "h")).secure)
  #expect(!request(UpstreamURL(scheme: "ws", host: "h")).secure)
}

@Test func usersNeverShareALink() {
  let rig = SocketIORig()
  for owner: UInt32? in [nil, 1_000, 1_001] {
    let connection = SocketIORig.Connection(rig.kind.connector(for: rig.specification("/x", owner: owner)))
    connection.dial()
    withExtendedLifetime(connection) {}
  }
  #expect(rig.dialer.transports.count == 3)
}

@Test func linkKeysShowNoSecrets() {
  let key = LinkKey(
    SocketIORig().specification(url: UpstreamURL(scheme: "http", userInfo: "u:secret", host: "h", query: "k=secret")) {
      $0.auth = .inline([UInt8](#"{"t":"secret"}"#.utf8))
      $0.headers = [HTTPHeader(name: "X", value: "secret")]
    })
  var dumped = ""
  dump(key, to: &dumped)
  #expect(!"\(key) \(String(reflecting: key)) \(dumped)".contains("secret"))
}

private func payload(_ content: String) -> Result<String, CredentialProblem> {
  Result { () throws(CredentialProblem) in
    String(decoding: try AuthPayload.payload(from: [UInt8](content.utf8), of: .file("/t")), as: UTF8.self)
  }
}

@Test func credentialFilesBecomePayloads() {
  let rows: [(String, Result<String, CredentialProblem>)] = [
    (#"{"token":"a"}"#, .success(#"{"token":"a"}"#)),
    ("\n {\"a\": 1.50}\r\n", .success(#"{"a": 1.50}"#)),
    ("abc", .success(#"{"token":"abc"}"#)),
    ("abc\n", .success(#"{"token":"abc"}"#)),
    ("abc\r\n", .success(#"{"token":"abc"}"#)),
    ("a\"b\n\n", .success(#"{"token":"a\"b\n"}"#)),
    ("12345", .success(#"{"token":"12345"}"#)),
    ("[not json", .success(#"{"token":"[not json"}"#)),
    ("", .failure(CredentialProblem("the credential file /t is empty"))),
    (" \n", .failure(CredentialProblem("the credential file /t is empty"))),
    (#"{"a":"#, .failure(CredentialProblem("the credential file /t is not well-formed JSON"))),
    ("[1]", .failure(CredentialProblem("the credential file /t holds JSON that is not an object"))),
    (#""quoted""#, .failure(CredentialProblem("the credential file /t holds JSON that is not an object"))),
    (
      String(repeating: "x", count: 65_537),
      .failure(CredentialProblem("the credential file /t is larger than 64 KiB"))
    ),
  ]
  for (content, expected) in rows { #expect(payload(content) == expected, "\(content.prefix(20))") }
  #expect(throws: CredentialProblem("the credential file /t is not UTF-8")) {
    try AuthPayload.payload(from: [0x61, 0xff], of: .file("/t"))
  }
}

@Test func credentialsAreReadAnewAtEachAttempt() {
  let rig = SocketIORig()
  rig.credentials.files["/t"] = "one\n"
  let connection = rig.connection { $0.auth = .file("/t") }
  rig.transport.open()
  rig.transport.receive(SocketIORig.handshake)
  #expect(rig.transport.takeSent() == [#"40{"token":"one"}"#])
  rig.credentials.files["/t"] = "two"
  rig.transport.fail(UpstreamFailure(.closed, "gone"))
  connection.dial()
  rig.transport.open()
  rig.transport.receive(SocketIORig.handshake)
  #expect(rig.transport.takeSent() == [#"40{"token":"two"}"#])
}

@Test func credentialsThatCannotBeReadEndTheAttemptBeforeAnythingIsDialled() {
  let rig = SocketIORig()
  let connection = rig.connection { $0.auth = .file("/missing") }
  #expect(connection.log.take() == [] && !connection.log.wasDisturbed)
  rig.turn()
  #expect(connection.log.take() == [.ended(UpstreamFailure(.auth, "no such file"))])
  #expect(rig.dialer.transports.isEmpty)
}

@Test func leavingWhileCredentialsAreReadDialsNothing() {
  let rig = SocketIORig()
  rig.credentials.isHeldBack = true
  rig.credentials.files["/t"] = "one"
  let connection = rig.connection { $0.auth = .file("/t") }
  connection.close()
  rig.credentials.release()
  rig.turn()
  #expect(connection.log.take() == [] && rig.dialer.transports.isEmpty && rig.credentials.reads == 1)
}

@Test func percentEncodingKeepsWhatIsEncodedAlready() {
  #expect(PercentEncoding.component("aZ0-._~ &=?/%é") == "aZ0-._~%20%26%3D%3F%2F%25%C3%A9")
  #expect(PercentEncoding.query("a=%20&b=x y#\"é") == "a=%20&b=x%20y%23%22%C3%A9")
  #expect(PercentEncoding.decode("%41%zz%4") == "A%zz%4")
  #expect(PercentEncoding.decode("%C3%A9") == "é")
}
