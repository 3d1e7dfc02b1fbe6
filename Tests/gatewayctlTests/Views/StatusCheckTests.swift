@testable import GatewayCore
import Testing

@testable import gatewayctl

/// What `status --check` says.
@Suite struct StatusCheckTests {
  private let now: Int64 = 1_000_000

  private func connection(_ name: String?, _ state: String, _ reason: String? = nil, down seconds: Int = 0) -> String {
    let upstream = name.map { "\"\($0)\"" } ?? "null"
    let since = state == "connected" ? "null" : "\(now - Int64(seconds) * 1_000)"
    let why = reason.map { "\"\($0)\"" } ?? "null"
    return #"{"upstream":\#(upstream),"url":"https://\#(name ?? "adhoc").example","state":"\#(state)","#
      + #""reason":\#(why),"detail":null,"down_since":\#(since),"queue":{"count":2,"bytes":3}}"#
  }

  private func check(
    _ connections: [String], maxDown: Duration = .zero, asked: StatusCheck.Asked = .all,
    daemon: String = #"{"state":"running","outbox":{"state":"working"}}"#
  ) throws -> StatusCheck {
    let text = Array(#"{"daemon":\#(daemon),"connections":[\#(connections.joined(separator: ","))]}"#.utf8)
    let document = try JSONValue.parse(text.span.bytes)
    var check = StatusCheck(now: now, maxDown: maxDown)
    check.judge(connections: document, asked: asked)
    check.judge(daemon: document)
    return check
  }

  @Test func allIsFineWhereEverythingIsConnectedOrNotNeeded() throws {
    let check = try check([connection("a", "connected"), connection("b", "disconnected", "idle", down: 900)])
    #expect(check.verdict == .fine)
    #expect(check.line == "GATEWAYD OK: 1 connected, none down | connected=1 down=0 queued=4")
  }

  @Test(arguments: [
    (0, 0, StatusCheck.Verdict.critical), (299, 300, .warning), (300, 300, .critical), (3_000, 300, .critical),
  ])
  func whatIsDownIsCriticalFromMaxDownOn(_ down: Int, _ limit: Int, _ verdict: StatusCheck.Verdict) throws {
    let lost = connection("chat", "reconnecting", "unreachable", down: down)
    let check = try check([connection("a", "connected"), lost], maxDown: .seconds(limit))
    #expect(check.verdict == verdict)
    #expect(check.line.hasPrefix("GATEWAYD \(verdict.word): chat is down\(down > 0 ? " for " : " (")"))
    #expect(check.line.hasSuffix(" (unreachable) | connected=1 down=1 queued=4"))
  }

  @Test(arguments: [
    (0, 0, StatusCheck.Verdict.critical, "chat is not connected yet"),
    (4, 5, .warning, "chat is not connected yet after 4 s"), (5, 5, .critical, "chat is not connected yet after 5 s"),
  ])
  func theFirstAttemptCountsAsDownAndIsNoNonsense(
    _ down: Int, _ limit: Int, _ verdict: StatusCheck.Verdict, _ text: String
  ) throws {
    let check = try check([connection("chat", "created", down: down)], maxDown: .seconds(limit))
    #expect(check.line == "GATEWAYD \(verdict.word): \(text) | connected=0 down=1 queued=2")
  }

  @Test func aDaemonThatTellsNoTimeIsNotSaidToBeDownForNoTime() throws {
    let untold = connection("chat", "created").replacing(#""down_since":\#(now)"#, with: #""down_since":null"#)
    #expect(try check([untold]).line == "GATEWAYD CRITICAL: chat is not connected yet | connected=0 down=1 queued=2")
  }

  @Test func whatUsersChoseByURLIsAWarningUnlessItWasAskedFor() throws {
    let lost = connection(nil, "disconnected", "refused", down: 900)
    #expect(try check([lost]).verdict == .warning)
    #expect(try check([lost], asked: .these).verdict == .critical)
  }

  @Test func aMistypedNamespaceOfAnUpstreamIsAWarningUnlessItWasAskedFor() throws {
    func lost(_ namespace: String, path: String = "") -> String {
      connection("chat", "disconnected", "refused", down: 900)
        .replacing(#".example","#, with: #".example\#(path)","namespace":"\#(namespace)","#)
    }
    let mistyped = try check([lost("/typo")])
    #expect(
      mistyped.line
        == "GATEWAYD WARNING: chat /typo is down for 15 min (refused) | connected=0 down=1 queued=2")
    #expect(try check([lost("/typo")], asked: .upstream).verdict == .warning)
    #expect(try check([lost("/typo")], asked: .these).verdict == .critical)
    for own in [lost("/"), lost("/", path: "/"), lost("/admin", path: "/admin"), lost("/admin", path: "/admin?v=…")] {
      #expect(
        try check([own]).line == "GATEWAYD CRITICAL: chat is down for 15 min (refused) | connected=0 down=1 queued=2")
    }
  }

  @Test func aURLThatNobodyUsesIsUnknown() throws {
    let daemon = #"{"state":"running","outbox":{"state":"working"}}"#
    func verdict(_ connections: String, of url: String = "http://chat.exmaple") throws -> StatusCheck {
      let text = Array(#"{"daemon":\#(daemon),"connections":[\#(connections)]}"#.utf8)
      var check = StatusCheck(now: now, maxDown: .zero)
      check.judge(connections: try JSONValue.parse(text.span.bytes), ofURL: Target(url).shown)
      return check
    }
    let unused = try verdict("")
    #expect(unused.verdict == .unknown)
    #expect(
      unused.line.hasPrefix("GATEWAYD UNKNOWN: no program uses http://chat.exmaple; check the URL and what was given"))
    let secret = try verdict("", of: "http://ann:hunter2@chat.exmaple/?key=tok3n").line
    #expect(secret.hasPrefix("GATEWAYD UNKNOWN: no program uses http://chat.exmaple/?key=***; check the URL"))
    #expect(try verdict(connection(nil, "connected")).verdict == .fine)
    #expect(try verdict(connection(nil, "disconnected", "refused", down: 900)).verdict == .critical)
  }

  @Test func aWrongURLThatSomebodyHasJustTriedIsUnknown() throws {
    func verdict(needed: Bool, lastConnected: String, beside others: [String] = []) throws -> StatusCheck.Verdict {
      let tried = connection(nil, "disconnected", "unreachable", down: 3)
        .replacing(#""state":"#, with: #""needed":\#(needed),"last_connected":\#(lastConnected),"state":"#)
      let text = Array(#"{"connections":[\#(([tried] + others).joined(separator: ","))]}"#.utf8)
      var check = StatusCheck(now: now, maxDown: .zero)
      check.judge(connections: try JSONValue.parse(text.span.bytes), ofURL: "http://chat.exmaple")
      return check.verdict
    }
    #expect(try verdict(needed: false, lastConnected: "null") == .unknown)
    #expect(try verdict(needed: true, lastConnected: "null") == .critical)
    #expect(try verdict(needed: false, lastConnected: "\(now - 60_000)") == .fine)
    #expect(try verdict(needed: false, lastConnected: "null", beside: [connection(nil, "connected")]) == .fine)
  }

  @Test func whatAnAdministratorClosedIsAWarning() throws {
    #expect(try check([connection("a", "disconnected", "requested", down: 900)]).verdict == .warning)
  }

  @Test(arguments: [
    (#"{"state":"draining","outbox":{"state":"working"}}"#, StatusCheck.Verdict.warning),
    (#"{"state":"running","outbox":{"state":"failing","detail":"disk full"}}"#, .critical),
    (#"{"state":"running","outbox":{"state":"unavailable"}}"#, .warning),
    (#"{"state":"running","outbox":{"state":"working","warning":"it grows"}}"#, .warning),
  ])
  func theDaemonItselfIsLookedAt(_ daemon: String, _ verdict: StatusCheck.Verdict) throws {
    #expect(try check([], daemon: daemon).verdict == verdict)
  }

  @Test func whatAFleetWasGivenAndHasNotWrittenIsQueued() throws {
    let given = connection("chat", "connected").replacing(#""state":"#, with: #""fleet":{"unconfirmed":7},"state":"#)
    #expect(try check([given]).line == "GATEWAYD OK: 1 connected, none down | connected=1 down=0 queued=9")
  }

  @Test func whatNobodyNeedsAfterATakeOverIsNotCritical() throws {
    func left(_ reason: String, isNeeded: Bool) -> String {
      connection("chat", "disconnected", reason, down: 900)
        .replacing(#""state":"#, with: #""needed":\#(isNeeded),"state":"#)
    }
    let check = try check([connection("chat", "connected"), left("fleet", isNeeded: false)])
    #expect(check.line == "GATEWAYD OK: 1 connected, none down | connected=1 down=0 queued=4")
    #expect(try self.check([left("fleet", isNeeded: true)]).verdict == .critical)
    #expect(try self.check([left("requested", isNeeded: false)]).verdict == .warning)
  }

  @Test(arguments: [
    (
      #"{"state":"unreachable","reason":"auth","detail":"no file /etc/p"}"#, "null",
      "the fleet's Redis is unreachable (auth: no file /etc/p); 'gatewayctl doctor' of an upstream of the fleet says what to do"
    ),
    (
      #"{"state":"unreachable","reason":null,"detail":null}"#, "null",
      "the fleet's Redis is unreachable; 'gatewayctl doctor' of an upstream of the fleet says what to do"
    ),
    (
      #"{"state":"working","reason":null,"detail":null,"warning":"it removes keys"}"#, "null",
      "the fleet's Redis: it removes keys"
    ),
    (
      #"{"state":"working","reason":null,"detail":null,"warning":null}"#, #""this host has left""#,
      "fleet: this host has left"
    ),
  ])
  func aFleetWithoutItsRedisIsNotOK(_ redis: String, _ warning: String, _ text: String) throws {
    let daemon = #"{"state":"running","outbox":{"state":"working"},"fleet":{"redis":\#(redis),"warning":\#(warning)}}"#
    let check = try check([connection("a", "connected")], daemon: daemon)
    #expect(check.line == "GATEWAYD WARNING: \(text) | connected=1 down=0 queued=2")
  }

  @Test func anUpstreamWhoseLinkThisHostHasIsSaidAndCountedOnce() throws {
    func both(_ use: String, _ link: String) -> [String] {
      [("follower", use), ("holder", link)].map { role, text in
        text.replacing(#""state":"#, with: #""fleet":{"role":"\#(role)"},"state":"#)
      }
    }
    let up = try check(both(connection("chat", "connected"), connection("chat", "connected")))
    #expect(up.line == "GATEWAYD OK: 1 connected, none down | connected=1 down=0 queued=4")
    // Another host had the link before, or a program is new here.
    let taken = both(
      connection("chat", "disconnected", "fleet", down: 3), connection("chat", "reconnecting", "unreachable", down: 1))
    let used = both(
      connection("chat", "created", "unreachable", down: 1), connection("chat", "reconnecting", "unreachable", down: 3))
    for connections in [taken, taken.reversed(), used] {
      let down = try check(connections, maxDown: .seconds(5))
      #expect(
        down.line == "GATEWAYD WARNING: chat is down for 3 s (unreachable) | connected=0 down=1 queued=4")
    }
    let closed = connection("chat", "disconnected", "requested", down: 3)
    let half = try check(both(closed, connection("chat", "connected")))
    #expect(half.line == "GATEWAYD WARNING: chat is down for 3 s (requested) | connected=1 down=1 queued=4")
  }

  @Test func theWorstComesFirstAndTheLineIsOne() throws {
    var check = try check([
      connection("a", "disconnected", "requested", down: 1), connection("b", "disconnected", "tls", down: 1),
    ])
    check.find(.unknown, "a|b\nc")
    #expect(check.verdict == .critical && check.line.hasPrefix("GATEWAYD CRITICAL: b is down"))
    #expect(check.line.contains("; a/b"))
    #expect(!check.line.contains("\n") && check.line.count { $0 == "|" } == 1)
    let (first, second) = (check.line.firstRange(of: "b is down"), check.line.firstRange(of: "a is down"))
    #expect(try #require(first).lowerBound < #require(second).lowerBound)
  }
}
