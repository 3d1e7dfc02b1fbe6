import Testing

@testable import GatewayCore

@Suite struct LinesTests {
  private let rig = DirectRig()

  @Test func anEventIsItsTypeItsBodyAndWhatElseItHas() throws {
    let connection = try rig.open(DirectRig.lines)
    rig.transport.receive(
      #"{"type":"chat","body":{"x":1.50}}"#, #"{"type":"chat"}"#,
      #"{"from":"ann","type":"chat","body":"hi","id":"m7"}"#,
      #"{"type":"a\u0062","body":{"$bin":1}}"#, #"{"type":7,"body":null}"#)
    #expect(
      connection.log.take() == [
        .event(#""chat"({"x":1.50})"#), .event(#""chat"()"#), .event(#""chat"("hi"){"id":"m7","from":"ann"}"#),
        .event(#""a\u0062"({"$$bin":1})"#), .event("7(null)"),
      ])
  }

  @Test(arguments: ["error", "err"])
  func theMemberThatMarksAFailureIsOneLikeOthersInAnEvent(_ error: String) throws {
    let lines = [
      #"{"type":"a","\#(error)":1}"#, #"{"x":2,"\#(error)":null,"id":"m7","type":"a","body":[1]}"#,
      #"{"type":"a","\#(error)":{"$bin":1}}"#,
    ]
    let connection = try rig.open(DirectRig.lines) { $0.lines.error = error }
    for line in lines { rig.transport.receive(line) }
    #expect(
      connection.log.take() == [
        .event(#""a"(){"\#(error)":1}"#), .event(#""a"([1]){"id":"m7","\#(error)":null,"x":2}"#),
        .event(#""a"(){"\#(error)":{"$$bin":1}}"#),
      ])
    let whole = try rig.open(DirectRig.lines) { ($0.lines.error, $0.lines.body) = (error, "") }
    for line in lines { rig.transport.receive(line) }
    #expect(
      whole.log.take() == [
        .event(#""a"({"\#(error)":1})"#), .event(#""a"({"id":"m7","\#(error)":null,"x":2,"body":[1]})"#),
        .event(#""a"({"\#(error)":{"$$bin":1}})"#),
      ])
  }

  @Test func aLineInPiecesIsTheSameMessage() throws {
    let connection = try rig.open(DirectRig.lines)
    let lines = [
      #" {"from":"ann","type":"chat","body":["hi",{"x":1}],"id":"m7"} "#, #"{"body":{"$bin":1},"type":"a\u0062"}"#,
    ]
    for line in lines { rig.transport.receive(line) }
    let expected = connection.log.take()
    for size in 1...40 {
      for line in lines { rig.transport.receive(line, inPiecesOf: size) }
      #expect(connection.log.take() == expected, "pieces of \(size)")
    }
  }

  @Test func aMessageThatFitsIntoNoLineIsToldByItsName() throws {
    let connection = try rig.open(DirectRig.lines)
    connection.log.lineLimit = 200
    try connection.send("sum", "[1]", ack: 40)
    try connection.send("sum", "[1]", ack: 41)
    let body = [String](repeating: "1", count: 200).joined(separator: ",")
    rig.transport.receive(#"{"body":[\#(body)],"type":"chat"}"#, inPiecesOf: 16)
    rig.transport.receive(#"{"body":[\#(body)],"id":2}"#, inPiecesOf: 16)
    rig.transport.receive(#"{"error":{"code":"no","x":[\#(body)]},"id":3}"#, inPiecesOf: 16)
    #expect(
      connection.log.take() == [.tooLong(#""chat" of 401 bytes"#), .tooLong("40 of 401 bytes"), .failed("41 no()")])
  }

  @Test func whatWaitedWhileTheMembersChangedIsNotWrittenInAMixtureOfBoth() throws {
    let names = LinesSettings()
    var others = names
    others.body = "b"
    let old = try #require(
      rig.factory.connector(for: rig.specification(DirectRig.lines) { $0.lines = names }))
    let new = try #require(
      rig.factory.connector(for: rig.specification(DirectRig.lines) { $0.lines = others }))
    let message = try old.prepare(MessageDraft(event: "pay", args: Array("[5]".utf8)))
    #expect(old.check(message, acknowledged: false) == nil)
    #expect(
      new.check(message, acknowledged: false)
        == .outdated("`lines` of the upstream changed while this waited, which was written with other members"))
  }

  @Test func aSendIsOneLine() throws {
    let connection = try rig.open(DirectRig.lines)
    try connection.send("chat", #"[{"x":1.50}]"#)
    try connection.send("chat")
    let message = try connection.connector.prepare(
      MessageDraft(event: "chat", args: Array(#"["hi"]"#.utf8), kwargs: Array(#" { "to":"ann" } "#.utf8)))
    connection.channel?.write(message, ack: nil)
    #expect(
      rig.transport.takeSent() == [
        #"{"type":"chat","body":{"x":1.50}}"# + "\n", #"{"type":"chat"}"# + "\n",
        #"{"type":"chat","body":"hi","to":"ann"}"# + "\n",
      ])
  }

  @Test func aRequestFindsItsAnswer() throws {
    let connection = try rig.open(DirectRig.lines)
    try connection.send("sum", "[[1,2]]", ack: 40)
    try connection.send("sum", "[[3]]", ack: 41)
    #expect(
      rig.transport.takeSent() == [
        #"{"type":"sum","id":2,"body":[1,2]}"# + "\n", #"{"type":"sum","id":3,"body":[3]}"# + "\n",
      ])
    rig.transport.receive(#"{"type":"sum","id":3,"body":3}"#, #"{"id":"2","body":3,"took":1}"#)
    #expect(connection.log.take() == [.acknowledged("41(3)"), .acknowledged(#"40(3){"took":1}"#)])
  }

  @Test func aSecondOrLateAnswerIsPassedOver() throws {
    let connection = try rig.open(DirectRig.lines)
    try connection.send("sum", "[1]", ack: 40)
    try connection.send("sum", "[1]", ack: 41)
    connection.channel?.forget(ack: 41)
    rig.transport.receive(#"{"id":2}"#, #"{"id":2}"#, #"{"id":3}"#, #"{"type":"x","id":4}"#)
    #expect(connection.log.take() == [.acknowledged("40()"), .event(#""x"(){"id":4}"#)])
  }

  @Test(arguments: [
    (#"{"id":2,"error":"no.room"}"#, "40 no.room()"), (#"{"id":2,"error":404}"#, "40 404()"),
    (#"{"id":2,"error":{"code":"E7","x":1}}"#, #"40 E7({"code":"E7","x":1})"#),
    (#"{"id":2,"error":{}}"#, "40 error({})"),
    (#"{"id":2,"error":"no","body":[1]}"#, "40 no([1])"), (#"{"id":2,"error":true}"#, "40 error()"),
  ])
  func anAnswerWithAnErrorIsAFailure(_ line: String, _ failure: String) throws {
    let connection = try rig.open(DirectRig.lines)
    try connection.send("sum", "[1]", ack: 40)
    rig.transport.receive(line)
    #expect(connection.log.take() == [.failed(failure)])
  }

  @Test func noErrorIsNoError() throws {
    let connection = try rig.open(DirectRig.lines)
    try connection.send("sum", "[1]", ack: 40)
    rig.transport.receive(#"{"id":2,"error":null,"body":1}"#)
    #expect(connection.log.take() == [.acknowledged("40(1)")])
  }

  @Test func theMembersAreWhatTheProfileSays() throws {
    let connection = try rig.open(DirectRig.lines) {
      ($0.lines.type, $0.lines.id, $0.lines.body, $0.lines.error) = ("cmd", "seq", "", "err")
      $0.lines.end = .crlf
    }
    try connection.send("move", #"[ { "x":1 } ]"#, ack: 5)
    try connection.send("stop", "[{}]")
    #expect(rig.transport.takeSent() == [#"{"cmd":"move","seq":2,"x":1}"# + "\r\n", #"{"cmd":"stop"}"# + "\r\n"])
    rig.transport.receive(#"{"cmd":"moved","x":2,"type":"t"}"#, #"{"seq":2,"ok":true}"#, #"{"cmd":"idle"}"#)
    #expect(
      connection.log.take() == [
        .event(#""moved"({"x":2,"type":"t"})"#), .acknowledged(#"5({"ok":true})"#), .event(#""idle"()"#),
      ])
  }

  // MARK: - What is wrong

  @Test(arguments: [
    #"{"type":"a""#, "hello", "[1]", "{\"type\":\"\u{1}\"}", "HTTP/1.1 400 Bad Request", #"{"type":"a"} {}"#,
  ])
  func whatIsNoObjectEndsTheLink(_ line: String) throws {
    let connection = try rig.open(DirectRig.lines)
    rig.transport.receive(line)
    guard case .ended(let failure) = connection.log.take().first else { return #expect(Bool(false)) }
    #expect(failure.reason == .protocolError)
    #expect(rig.transport.isClosed)
  }

  @Test func whatCannotBeShownIsAGap() throws {
    let connection = try rig.open(DirectRig.lines)
    let deep = String(repeating: "[", count: 70) + String(repeating: "]", count: 70)
    rig.transport.receive(
      #"{"type":"a","type":"b"}"#, #"{"type":"a","body":\#(deep)}"#, #"{"body":1}"#, #"{"id":900,"body":1}"#,
      #"{"type":[",\"ack\":\"a1"]}"#, #"{"type":{"a":1},"body":1}"#)
    let twice = "the line has a member of lines.type, id, body or error twice, or too many members"
    let nameless = #"no member "type" of the line names its event; set lines.type to the one that does"#
    #expect(
      connection.log.take() == [
        .dropped(.undecodable, twice), .dropped(.undecodable, "the line is nested too deeply"),
        .dropped(.undecodable, nameless), .dropped(.undecodable, nameless), .dropped(.undecodable, nameless),
        .dropped(.undecodable, nameless),
      ])
  }

  private func nested(_ levels: Int) -> String {
    String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
  }

  /// An answer that cannot be shown ends its request, wherever its id stands, and is no event of others.
  @Test(arguments: [0, 16])
  func anAnswerThatCannotBeShownIsUnreadable(inPiecesOf size: Int) throws {
    let connection = try rig.open(DirectRig.lines)
    for ack in UInt64(40)...45 { try connection.send("sum", "[1]", ack: ack) }
    let lines = [
      #"{"type":"sum","id":2,"body":\#(nested(62))}"#, #"{"body":\#(nested(900)),"id":"3"}"#,
      #"{"id":4,"error":{"code":"no","x":\#(nested(62))}}"#, #"{"id":5,"body":1,"body":2}"#,
      #"{"id":6,"body":\#(nested(61))}"#, #"{"id":7,"id":7}"#,
    ]
    for line in lines {
      if size > 0 { rig.transport.receive(line, inPiecesOf: size) } else { rig.transport.receive(line) }
    }
    #expect(
      connection.log.take() == [
        .unreadable(40), .unreadable(41), .failed("42 no()"), .unreadable(43), .acknowledged("44(\(nested(61)))"),
        .dropped(.undecodable, "the line has a member of lines.type, id, body or error twice, or too many members"),
      ])
    #expect(!rig.transport.isClosed)
  }

  /// Whatever is told is within the levels of a line of the local protocol.
  @Test(arguments: ["body", ""])
  func anArgumentMayHaveAsManyLevelsAsAProgramCanSend(_ body: String) throws {
    let connection = try rig.open(DirectRig.lines) { $0.lines.body = body }
    let most = body.isEmpty ? 60 : 61
    rig.transport.receive(
      #"{"type":"a","body":\#(nested(most))}"#, #"{"type":"a","body":\#(nested(most + 1))}"#,
      #"{"type":"a","x":\#(nested(most))}"#, #"{"type":"a","x":\#(nested(most + 1))}"#)
    let gap = ChannelLog.Entry.dropped(.undecodable, "the line is nested too deeply")
    let shown = body.isEmpty ? #"({"body":\#(nested(60))})"# : "(\(nested(61)))"
    let keyed = body.isEmpty ? #"({"x":\#(nested(60))})"# : #"(){"x":\#(nested(61))}"#
    #expect(connection.log.take() == [.event("\"a\"\(shown)"), gap, .event("\"a\"\(keyed)"), gap])
  }

  @Test func aLineWithoutItsTypeSaysWhichSettingNamesIt() throws {
    let connection = try rig.open(DirectRig.lines) { $0.lines.type = "cmd" }
    rig.transport.receive(#"{"type":"a","body":1}"#)
    #expect(
      connection.log.take() == [
        .dropped(
          .undecodable, #"no member "cmd" of the line names its event; set lines.type to the one that does"#)
      ])
  }

  @Test func whatCannotBeSaidIsRefused() throws {
    let connection = try rig.connection(DirectRig.lines) {
      $0.lines.heartbeat.type = "ping"
      $0.lines.login.type = "login"
    }
    func problem(_ event: String, _ args: String, kwargs: String? = nil) -> String? {
      let draft = MessageDraft(event: event, args: Array(args.utf8), kwargs: kwargs.map { Array($0.utf8) })
      do throws(MessageProblem) {
        _ = try connection.connector.prepare(draft)
        return nil
      } catch {
        return error.sentence
      }
    }
    #expect(problem("ping", "[]")?.contains("used by the connection itself") == true)
    #expect(problem("login", "[]") != nil)
    #expect(problem("a", "[1,2]")?.contains("one argument or none") == true)
    #expect(problem("a", #"[{"$bin":"AQ=="}]"#)?.contains("binary") == true)
    #expect(problem("a", "[]", kwargs: #"{"id":1}"#)?.contains("'id'") == true)
    #expect(problem("a", "[1]", kwargs: #"{"x":1}"#) == nil)
  }

  @Test func profilesThatContradictThemselvesAreRefused() {
    #expect(rig.problem(DirectRig.lines) == nil)
    #expect(rig.problem(DirectRig.lines) { $0.lines.id = "type" } != nil)
    #expect(rig.problem(DirectRig.lines) { $0.lines.heartbeat.answer = "pong" } != nil)
    #expect(rig.problem(DirectRig.lines) { $0.lines.login.accepted = "yes" } != nil)
    #expect(rig.problem(DirectRig.lines) { $0.auth = .inline(Array("{}".utf8)) }?.contains("lines.login.type") == true)
    #expect(rig.problem(UpstreamURL(scheme: "tls", host: "h"))?.contains("tls://h:4000") == true)
    #expect(rig.problem(UpstreamURL(scheme: "tcp", host: "h", port: 1, path: "/x")) != nil)
  }

  @Test(arguments: [
    (DirectRig.lines, false), (UpstreamURL(scheme: "tls", host: "h", port: 1), true),
    (UpstreamURL(scheme: "tcp", host: "127.0.0.1", port: 1), true),
    (UpstreamURL(scheme: "tcp", host: "::1", port: 1), true),
    (UpstreamURL(scheme: "tcp", host: "127.example", port: 1), false),
  ])
  func credentialsTravelReadablyOnlyWhereThatIsSaid(_ url: UpstreamURL, isAllowed: Bool) {
    let problem = rig.problem(url) {
      $0.auth = .inline(Array("{}".utf8))
      $0.lines.login.type = "login"
    }
    #expect(
      problem
        == (isAllowed
          ? nil
          : "auth would travel readably over tcp://; use tls://, or set lines.readable_login if the way is safe"))
    let said = rig.problem(url) {
      $0.auth = .inline(Array("{}".utf8))
      $0.lines.login.type = "login"
      $0.lines.readableLogin = true
    }
    #expect(said == nil)
    #expect(rig.problem(url) { $0.lines.login.type = "login" } == nil)
  }

  @Test(arguments: ["e" + String(repeating: "\u{301}", count: 1_000), String(repeating: "ä", count: 200)])
  func theNameOfAnErrorIsCutInBytes(_ name: String) throws {
    let error = Array("\"\(name)\"".utf8)
    let found = LinesError.words(error.span.bytes, 0..<error.count)
    let words = try #require(found)
    #expect((250...LinesError.nameLimit).contains(words.utf8.count))
    #expect(name.unicodeScalars.starts(with: words.unicodeScalars.dropLast()))
  }

  // MARK: - The heartbeat

  @Test func theHeartbeatIsAskedForAndAnswered() throws {
    let connection = try rig.open(DirectRig.lines) {
      ($0.lines.heartbeat.type, $0.lines.heartbeat.answer) = ("ping", "pong")
      ($0.lines.heartbeat.every, $0.lines.heartbeat.misses) = (.seconds(10), 3)
    }
    rig.pass(.seconds(10))
    #expect(rig.transport.takeSent() == ["{\"type\":\"ping\"}\n"])
    rig.transport.receive(#"{"type":"pong"}"#, #"{"type":"ping"}"#)
    #expect(rig.transport.takeSent() == ["{\"type\":\"pong\"}\n"])
    #expect(connection.log.take().isEmpty)
    #expect(connection.channel?.facts.roundTrip == 0)
    rig.pass(.seconds(39))
    #expect(connection.log.take().isEmpty)
    rig.pass(.seconds(2))
    guard case .ended(let failure) = connection.log.take().first else { return #expect(Bool(false)) }
    #expect(failure.reason == .heartbeat)
    #expect(rig.transport.takeSent().count == 3)
  }

  @Test func withoutAnAnswerBothSidesWriteUnasked() throws {
    let connection = try rig.open(DirectRig.lines) {
      $0.lines.heartbeat.type = "beat"
      $0.lines.heartbeat.every = .seconds(10)
    }
    for _ in 0..<5 {
      rig.pass(.seconds(10))
      #expect(rig.transport.takeSent() == ["{\"type\":\"beat\"}\n"])
      rig.transport.receive(#"{"type":"beat"}"#)
    }
    #expect(connection.log.take().isEmpty && rig.transport.takeSent().isEmpty)
  }

  @Test func withoutAHeartbeatSilenceIsAllowed() throws {
    let connection = try rig.open(DirectRig.lines)
    rig.pass(.seconds(86_400))
    #expect(connection.log.take().isEmpty && rig.transport.takeSent().isEmpty)
  }

  // MARK: - The server's time

  @Test func whatAnswersAQuestionTellsTheTimeBest() throws {
    let connection = try rig.open(DirectRig.lines) {
      ($0.lines.heartbeat.type, $0.lines.heartbeat.answer) = ("ping", "pong")
      ($0.lines.time, $0.lines.timeUnit) = ("at.now", .seconds)
    }
    try connection.send("sum", "[1]", ack: 40)
    rig.time.advance(by: .seconds(2))
    rig.transport.receive(#"{"id":2,"at":{"now":1795232601}}"#, #"{"type":"x","at":{"now":1795232602}}"#)
    rig.transport.receive(#"{"type":"y","at":{"now":"never"}}"#, #"{"type":"z"}"#)
    let samples = connection.log.samples
    #expect(samples.map(\.source) == [.request, .event])
    #expect(samples.first.map { $0.looked.upperBound - $0.looked.lowerBound } == .seconds(2))
  }

  @Test func requestsThatWereGivenUpTakeNoRoomInTheClock() throws {
    let connection = try rig.open(DirectRig.lines) { $0.lines.time = "now" }
    for ack in UInt64(0)..<300 {
      try connection.send("sum", "[1]", ack: ack)
      connection.channel?.forget(ack: ack)
    }
    try connection.send("sum", "[1]", ack: 300)
    rig.time.advance(by: .seconds(2))
    rig.transport.receive(#"{"id":302,"now":1700000000000}"#)
    #expect(connection.log.samples.map(\.source) == [.request])
  }

  // MARK: - The login

  private func loggingIn(_ change: @escaping (inout UpstreamSettings) -> Void = { _ in }) throws
    -> SocketIORig.Connection
  {
    let connection = try rig.connection(DirectRig.lines) {
      $0.auth = .inline(Array(#"{"user":"ann","password":"hunter2"}"#.utf8))
      $0.lines.login.type = "login"
      $0.lines.readableLogin = true
      change(&$0)
    }
    rig.transport.open()
    return connection
  }

  @Test func aLoginForThisHostDoesNotTravelReadablyThroughAProxyOfTheEnvironment() throws {
    func sent(
      _ scheme: String, isSaid: Bool = false, proxy: ProxyServer? = nil
    ) throws -> (sent: [String], failure: UpstreamFailure?) {
      let connection = try rig.connection(UpstreamURL(scheme: scheme, host: "localhost", port: 4_000)) {
        $0.auth = .inline(Array(#"{"password":"hunter2"}"#.utf8))
        $0.lines.login.type = "login"
        $0.lines.readableLogin = isSaid
        if let proxy { $0.proxy.choice = .server(proxy) }
      }
      rig.transport.open(proxy: "proxy.example:3128")
      guard case .ended(let failure) = connection.log.take().first else { return (rig.transport.takeSent(), nil) }
      return (rig.transport.takeSent(), failure)
    }
    let readable = try sent("tcp")
    #expect(readable.sent.isEmpty)
    #expect(readable.failure?.reason == .auth && readable.failure?.detail.contains("proxy.example:3128") == true)
    for (scheme, isSaid) in [("tls", false), ("tcp", true)] {
      #expect(try sent(scheme, isSaid: isSaid).sent.count == 1)
    }
    #expect(try sent("tcp", proxy: ProxyServer(kind: .http, host: "proxy.example", port: 3_128)).sent.count == 1)
  }

  @Test func theLoginIsTheFirstMessageAndItsAnswerOpens() throws {
    let connection = try loggingIn()
    #expect(
      rig.transport.takeSent() == [
        #"{"type":"login","id":1,"body":{"user":"ann","password":"hunter2"}}"# + "\n"
      ])
    rig.transport.receive(#"{"type":"welcome"}"#)
    #expect(connection.log.take().isEmpty)
    rig.transport.receive(#"{"type":"login","id":1}"#, #"{"type":"chat"}"#)
    #expect(connection.log.take() == [.opened, .event(#""chat"()"#)])
  }

  @Test func aTypeCanMeanYesOrNo() throws {
    let connection = try loggingIn { ($0.lines.login.accepted, $0.lines.login.refused) = ("yes", "no") }
    rig.transport.receive(#"{"id":1}"#)
    #expect(connection.log.take().isEmpty)
    rig.transport.receive(#"{"type":"yes"}"#)
    #expect(connection.log.take() == [.opened])
    let other = try loggingIn { ($0.lines.login.accepted, $0.lines.login.refused) = ("yes", "no") }
    rig.transport.receive(#"{"type":"no","body":{"reason":"banned"}}"#)
    guard case .ended(let failure) = other.log.take().first else { return #expect(Bool(false)) }
    #expect(failure.reason == .refused && failure.serverMessage == "banned")
    #expect(failure.serverData == Array(#"{"reason":"banned"}"#.utf8))
  }

  @Test func anErrorIsARefusalInItsOwnWords() throws {
    let connection = try loggingIn()
    rig.transport.receive(#"{"id":1,"error":"wrong password"}"#)
    guard case .ended(let failure) = connection.log.take().first else { return #expect(Bool(false)) }
    #expect(failure.reason == .refused && failure.detail == "the server refused the login: wrong password")
  }

  @Test func credentialsAreReadAgainAfterARefusal() throws {
    rig.credentials.output["login"] = [#"{"k":1}"#, #"{"k":2}"#]
    let connection = try loggingIn { $0.auth = .external(.command(["login"])) }
    rig.transport.receive(#"{"id":1,"error":"old"}"#)
    rig.timers.fire()
    rig.transport.open()
    #expect(rig.transport.takeSent() == [#"{"type":"login","id":1,"body":{"k":2}}"# + "\n"])
    rig.transport.receive(#"{"id":1}"#)
    #expect(connection.log.take() == [.opened])
  }

  @Test func aLoginThatIsNotAnsweredIsATimeOut() throws {
    let connection = try loggingIn()
    rig.pass(.seconds(11))
    guard case .ended(let failure) = connection.log.take().first else { return #expect(Bool(false)) }
    #expect(failure.reason == .timeout && failure.detail == "the server did not answer the login in time")
  }

  @Test func aServerThatHangsUpSaysAtWhichStage() throws {
    let connection = try loggingIn()
    rig.transport.fail(UpstreamFailure(.closed, "the server closed the connection"))
    guard case .ended(let failure) = connection.log.take().first else { return #expect(Bool(false)) }
    #expect(failure.detail == "the server closed the connection, before it answered the login")
  }

  @Test func theTraceNamesWhatItSeesAndNoSecret() throws {
    let connection = try loggingIn()
    let observer = Watcher()
    connection.connector.observer = observer
    rig.transport.receive(#"{"id":1}"#, #"{"type":"chat","body":"hunter2"}"#)
    #expect(
      observer.facts.map(\.text) == ["LOGIN accepted (8 bytes)", "EVENT chat (32 bytes)"])
    #expect(observer.facts.last?.payload == #"{"type":"chat","body":"***"}"#)
    // Combining marks are one character, however many they are.
    let type = "a" + String(repeating: "\u{301}", count: 10_000)
    rig.transport.receive(#"{"type":"\#(type)"}"#)
    #expect(observer.facts.last.map { $0.text.utf8.count < 256 } == true)
  }

  private final class Watcher: UpstreamObserver {
    let wantsPayloads = true
    var facts: [TraceFact] = []
    func observed(_ fact: TraceFact) { facts.append(fact) }
  }
}
