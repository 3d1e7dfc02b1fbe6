import Testing

@testable import GatewayCore

/// WAMP among the other kinds: what its URLs and settings mean, and what its link does.
@Suite struct WAMPKindTests {
  private let rig = DirectRig()

  private static func url(_ scheme: String = "wamp+ws", _ host: String = "localhost", realm: String? = "realm1")
    -> UpstreamURL
  {
    UpstreamURL(scheme: scheme, host: host, path: "/ws", fragment: realm)
  }

  /// The router agrees to a subprotocol.
  private func open(_ subprotocol: String? = "wamp.2.json", proxy: String? = nil) {
    var facts = TransportFacts(name: "websocket", tlsVersion: nil, verified: true)
    facts.subprotocol = subprotocol
    facts.proxy = proxy
    rig.transport.receiver?.transportOpened(facts, headers: [])
  }

  private func receive(_ text: String) {
    let bytes = Array(text.utf8)
    rig.transport.receiver?.transportReceived(text: bytes.span.bytes)
  }

  @Test func aRouterThatIsBackIsNotAskedForThousandsOfTopicsInOneTurn() throws {
    let connection = try rig.connection(Self.url())
    func topic(_ number: Int) -> Interest { Interest(.name(ExactText("a.t\(number)"))) }
    let count = DirectLink.toldAtOnce * 4
    for number in 0..<count { connection.channel?.want(topic(number)) }
    open()
    _ = rig.transport.takeSent()
    receive(#"[2,7,{"roles":{"broker":{},"dealer":{}}}]"#)
    var turns = [rig.transport.takeSent()]
    // What is not wanted any more before its turn is not asked for, and what is wanted once more is asked for once.
    let untold = (0..<count).filter { number in !turns[0].contains { $0.hasSuffix(#""a.t\#(number)"]"#) } }
    for number in untold.prefix(10) { connection.channel?.drop(topic(number)) }
    for number in untold.prefix(5) { connection.channel?.want(topic(number)) }
    connection.channel?.want(topic(count))
    while turns.count < 2 || turns.last?.isEmpty == false {
      rig.timers.fire()
      turns.append(rig.transport.takeSent())
    }
    #expect(turns.allSatisfy { $0.count <= DirectLink.toldAtOnce + 6 }, "\(turns.map(\.count))")
    let asked = turns.joined().filter { $0.hasPrefix("[32,") }
    let topics = Set(asked.compactMap { $0.split(separator: ",").last })
    #expect([asked.count, topics.count] == [count - 4, count - 4], "\(turns.map(\.count)) \(turns[0].first ?? "")")
  }

  @Test func theRequestGoesToThePathWithItsSubprotocol() throws {
    _ = try rig.connection(Self.url("wamp+wss"))
    let request = rig.transport.request
    #expect(request.target == "/ws")
    #expect(request.subprotocols == ["wamp.2.json"])
    #expect(request.secure && request.port == 443)
  }

  @Test func theRealmStandsInTheURLOrInTheSettings() {
    #expect(rig.problem(Self.url()) == nil)
    #expect(rig.problem(Self.url(realm: nil)) { $0.wamp.realm = "realm1" } == nil)
    #expect(rig.problem(Self.url()) { $0.wamp.realm = "realm1" } == nil)
    #expect(
      rig.problem(Self.url(realm: nil)) == "a WAMP upstream needs a realm: `wamp.realm`, or the URL's part behind #")
    #expect(
      rig.problem(Self.url()) { $0.wamp.realm = "other" }
        == "the realm of `wamp.realm` differs from the URL's part behind #; leave one of them out")
    #expect(
      rig.problem(Self.url(realm: "a%20b"))
        == "the realm 'a b' must not hold white space, control characters or #")
  }

  @Test func severalURLsNameOneRealm() {
    let others = [Self.url("wamp+wss", "h2"), Self.url("wamp+wss", "h3", realm: "realm2")]
    #expect(rig.problem(Self.url()) { $0.alternatives = [others[0]] } == nil)
    #expect(
      rig.problem(Self.url()) { $0.alternatives = others }
        == "its URLs name different realms, which are connections of their own: make an upstream for each")
    #expect(
      rig.problem(Self.url()) {
        $0.wamp.realm = "realm1"
        $0.alternatives = [Self.url("wamp+wss", "h2", realm: nil)]
      } == nil)
  }

  @Test func theRealmOfTheURLIsDecoded() throws {
    _ = try rig.connection(Self.url(realm: "r%C3%A4.x"))
    open()
    #expect(rig.transport.takeSent().first?.hasPrefix(#"[1,"rä.x","#) == true)
  }

  @Test(arguments: [nil, "wamp.2.msgpack"] as [String?])
  func withoutTheSubprotocolNothingIsSaid(_ subprotocol: String?) throws {
    let connection = try rig.connection(Self.url())
    open(subprotocol)
    guard case .ended(let failure) = connection.log.take().first else { return #expect(Bool(false)) }
    #expect(failure.reason == .incompatible)
    #expect(rig.transport.takeSent().isEmpty)
  }

  private let ticket = AuthSource.inline(Array(#"{"authid":"a","ticket":"t"}"#.utf8))

  @Test(arguments: ["router.example", "192.0.2.1", "127.example.com"])
  func aTicketDoesNotTravelReadablyToAnotherHost(_ host: String) throws {
    let connection = try rig.connection(Self.url("wamp+ws", host)) { $0.auth = ticket }
    open()
    guard case .ended(let failure) = connection.log.take().first else { return #expect(Bool(false)) }
    #expect(failure.reason == .auth)
    #expect(failure.detail.contains("wamp.readable_tickets"))
    #expect(rig.transport.takeSent().isEmpty)
  }

  @Test func aTicketForThisHostDoesNotTravelReadablyThroughAProxy() throws {
    let connection = try rig.connection(Self.url("wamp+ws", "localhost")) { $0.auth = ticket }
    open(proxy: "proxy.example:3128")
    guard case .ended(let failure) = connection.log.take().first else { return #expect(Bool(false)) }
    #expect(failure.reason == .auth)
    #expect(rig.transport.takeSent().isEmpty)
  }

  @Test func aTicketTravelsWhereNobodyListensOrWhereItIsAllowed() throws {
    for (scheme, host, isAllowed) in [
      ("wamp+wss", "router.example", false), ("wamp+ws", "127.0.0.1", false), ("wamp+ws", "::1", false),
      ("wamp+ws", "router.example", true),
    ] {
      _ = try rig.connection(Self.url(scheme, host)) {
        $0.auth = ticket
        $0.wamp.readableTickets = isAllowed
      }
      open()
      #expect(rig.transport.takeSent().first?.contains(#""authmethods":["ticket"]"#) == true)
    }
  }

  @Test func anotherPlaceThatIsReadableCountsToo() throws {
    _ = try rig.connection(Self.url("wamp+wss", "router.example")) {
      $0.auth = ticket
      $0.alternatives = [Self.url("wamp+ws", "router.example")]
    }
    for _ in 0..<2 {
      open()
      #expect(rig.transport.takeSent().isEmpty)
    }
  }

  @Test(arguments: [Account.user(1_000), .user(1_001), .configuration])
  func aKeyIsDerivedInTheTurnOfWhoAskedForTheConnection(_ account: Account) throws {
    let connection = try rig.connection(Self.url(), for: account) {
      $0.auth = .inline(Array(#"{"authid":"a","secret":"t"}"#.utf8))
    }
    open()
    receive(#"[4,"wampcra",{"challenge":"x","salt":"s","iterations":1000,"keylen":32}]"#)
    #expect(rig.cryptography.accounts == [account])
    #expect(connection.log.take().isEmpty)
  }

  @Test func theSessionIsAChannelLikeAnyOther() throws {
    let connection = try rig.connection(Self.url())
    open()
    _ = rig.transport.takeSent()
    receive(#"[2,4711,{"roles":{"broker":{},"dealer":{}}}]"#)
    #expect(connection.log.take() == [.opened])
    #expect(connection.channel?.facts.sid == "4711")
    #expect(connection.channel?.facts.protocols.map { $0.name } == ["wamp"])
    connection.channel?.want(Interest(.name(ExactText("a"))))
    receive("[33,1,70]")
    receive(#"[36,70,1,{},[1],{"k":2}]"#)
    #expect(connection.log.take() == [.event(#""a"(1){"k":2}"#)])
    _ = rig.transport.takeSent()
    connection.channel?.close()
    #expect(rig.transport.takeSent() == [#"[6,{},"wamp.close.close_realm"]"#])
    #expect(!rig.transport.isClosed)
    receive(#"[6,{},"wamp.close.goodbye_and_out"]"#)
    #expect(rig.dialer.transports.last?.isClosed == true)
  }

  @Test func aGoodbyeIsNotAwaitedForLong() throws {
    let connection = try rig.connection(Self.url())
    open()
    receive("[2,4711,{}]")
    connection.channel?.close()
    #expect(!rig.transport.isClosed)
    rig.advance(DirectConnectorState.closeLimit)
    #expect(rig.transport.isClosed)
  }

  @Test func aMessageOfAnotherKindIsRefusedAfterAReload() throws {
    let connection = try rig.connection(Self.url())
    let foreign = PreparedMessage(event: "a", body: Array(#"["a",1]"#.utf8))
    #expect(connection.connector.check(foreign, acknowledged: false) != nil)
    let own = try connection.connector.prepare(MessageDraft(event: "a", args: Array("[1]".utf8)))
    #expect(connection.connector.check(own, acknowledged: false) == nil)
  }

  @Test func whatNoRouterWouldGrantIsRefusedBeforehand() throws {
    let connector = try rig.connection(Self.url()).connector
    #expect(connector.problem(with: Interest(.all)) == nil)
    #expect(connector.problem(with: Interest(.name(ExactText("wamp.session.on_join")))) == nil)
    #expect(connector.problem(with: Interest(.name(ExactText("wamp.x")), answers: true)) != nil)
    #expect(connector.problem(with: Interest(.name(ExactText("a b")))) != nil)
    #expect(connector.problem(with: Interest(.glob(ExactText("a..*")))) != nil)
  }
}
