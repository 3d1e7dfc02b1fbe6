import Testing

@testable import GatewayCore

/// One thing that can happen while a session moves from long-polling to a WebSocket.
private enum Step: String, CaseIterable {
  /// The daemon's side sends the next number.
  case send
  /// The server answers the pending GET with its next number.
  case getData
  /// The server answers the pending GET with a noop.
  case getNoop
  /// The server accepts the pending POST.
  case post
  case webSocketOpens
  case probeAnswered
  case probeMisspeaks
  case webSocketLost
  case deadline
  /// One turn of the loop.
  case turn
}

/// A server that keeps both transports, checks what each may carry, and remembers what it received.
private final class Session {
  let rig = SocketIORig()
  let connection: SocketIORig.Connection
  private var sent = 0
  private var told = 0
  private(set) var problem: String?
  private var received: [String] = []
  private var isUpgraded = false
  private var deadlineHasPassed = false

  init() {
    connection = rig.connection { $0.transports = [.polling, .websocket] }
    rig.requester.get.answer(
      #"0{"sid":"e","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000}"#)
    rig.turn()
    rig.requester.post.answer("ok")
    rig.requester.get.answer(#"40{"sid":"socket"}"#)
    _ = connection.log.take()
  }

  private var webSocket: FakeTransport { rig.transport }

  private func note(_ sentence: String) { if problem == nil { problem = sentence } }

  /// Whether the step could happen now.
  func isPossible(_ step: Step) -> Bool {
    switch step {
    case .send, .turn: true
    case .getData, .getNoop: !rig.requester.gets.isEmpty
    case .post: !rig.requester.posts.isEmpty
    case .webSocketOpens, .webSocketLost: webSocket.receiver != nil && !isUpgraded
    case .probeAnswered, .probeMisspeaks: webSocket.receiver != nil && !isUpgraded && wasAsked
    case .deadline: !deadlineHasPassed
    }
  }

  private var wasAsked = false

  func perform(_ step: Step) {
    switch step {
    case .send:
      sent += 1
      do { try connection.send("n\(sent)") } catch { note("a send was refused") }
    case .getData:
      told += 1
      rig.requester.get.answer("42[\"t\(told)\"]")
    case .getNoop: rig.requester.get.answer("6")
    case .post: takePost()
    case .webSocketOpens: webSocket.open()
    case .probeAnswered: webSocket.receive("3probe")
    case .probeMisspeaks: webSocket.receive("3other")
    case .webSocketLost: webSocket.fail(UpstreamFailure(.closed, "lost"))
    case .deadline:
      deadlineHasPassed = true
      rig.advance(.seconds(10))
    case .turn: rig.turn()
    }
    look()
  }

  private func takePost() {
    let post = rig.requester.post
    if isUpgraded { note("a POST after the upgrade") }
    received += post.body.split(separator: "\u{1e}").map(String.init)
    post.answer("ok")
  }

  private func look() {
    if rig.requester.gets.count > 1 || rig.requester.posts.count > 1 { note("two requests of a kind") }
    guard rig.dialer.transports.count > 0 else { return }
    for packet in webSocket.takeSent() {
      if packet == "2probe" {
        wasAsked = true
      } else if packet == "5" {
        if !rig.requester.gets.isEmpty || !rig.requester.posts.isEmpty {
          note("upgraded while a request was under way")
        }
        isUpgraded = true
      } else {
        if !isUpgraded { note("\(packet) before the upgrade") }
        received.append(packet)
      }
    }
  }

  /// Lets everything that is under way come to its end and compares what arrived with what was sent.
  func conclude() -> String? {
    for _ in 0..<6 {
      perform(.turn)
      while isPossible(.post) { perform(.post) }
      if isPossible(.getNoop) { perform(.getNoop) }
    }
    if isUpgraded {
      told += 1
      webSocket.receive("42[\"t\(told)\"]")
    } else if isPossible(.getData) {
      perform(.getData)
    } else {
      note("neither transport carries the session")
    }
    if received != (0..<sent).map({ "42[\"n\($0 + 1)\"]" }) { note("the server received \(received)") }
    let events = connection.log.take()
    if events != (0..<told).map({ .event("\"t\($0 + 1)\"()") }) { note("the connection heard \(events)") }
    let shown = connection.channel?.facts.transport?.name
    if shown != (isUpgraded ? "websocket" : "polling") { note("status shows \(shown ?? "nothing")") }
    return problem
  }
}

/// Plays every possible sequence of steps up to a length, each on a session of its own.
private func playAll(_ steps: [Step], length: Int, after prefix: [Step] = []) -> (count: Int, problem: String?) {
  var count = 0
  var open: [[Step]] = [[]]
  while let path = open.popLast() {
    let session = Session()
    for step in prefix + path { session.perform(step) }
    if path.count < length {
      for step in steps where session.isPossible(step) && !(step == .turn && path.last == .turn) {
        open.append(path + [step])
      }
    }
    count += 1
    if let problem = session.conclude() {
      return (count, "\((prefix + path).map(\.rawValue)): \(problem)")
    }
  }
  return (count, nil)
}

@Test func noOrderOfStepsLosesOrReordersAPacketDuringTheUpgrade() {
  let played = playAll(
    [.send, .getData, .getNoop, .post, .webSocketOpens, .probeAnswered, .turn], length: 6)
  #expect(played.problem == nil)
  #expect(played.count > 5_000)
}

@Test func noFailureDuringTheUpgradeLosesOrReordersAPacket() {
  let played = playAll(
    [.send, .getData, .post, .probeAnswered, .probeMisspeaks, .webSocketLost, .deadline, .turn], length: 5,
    after: [.send, .turn, .webSocketOpens])
  #expect(played.problem == nil)
  #expect(played.count > 3_000)
}

@Test func leavingDuringTheUpgradeSendsWhatWaitsAndLetsGoOfBoth() throws {
  for steps: [Step] in [
    [], [.webSocketOpens], [.webSocketOpens, .probeAnswered], [.webSocketOpens, .probeAnswered, .post],
  ] {
    let session = Session()
    session.perform(.send)
    session.perform(.turn)
    for step in steps { session.perform(step) }
    session.connection.close()
    let requester = session.rig.requester
    while let post = requester.posts.first {
      let isLast = post.body.hasSuffix("1")
      post.answer("ok")
      #expect(isLast || requester.posts.count == 1, "\(steps)")
    }
    #expect(requester.all.filter(\.isPost).last?.body.hasSuffix("41\u{1e}1") == true, "\(steps)")
    #expect(session.rig.transport.isClosed && requester.gets.isEmpty, "\(steps)")
  }
}

@Test func leavingAfterTheUpgradeClosesTheWebSocket() {
  let session = Session()
  for step: Step in [.webSocketOpens, .probeAnswered, .getNoop] { session.perform(step) }
  let posts = session.rig.requester.all.filter(\.isPost).count
  session.connection.close()
  #expect(session.rig.transport.isClosed)
  #expect(session.rig.requester.all.filter(\.isPost).count == posts, "no goodbye by polling")
}

@Test func cookiesGoWithTheProbe() {
  let rig = SocketIORig()
  let connection = rig.connection { $0.transports = [.polling, .websocket] }
  rig.requester.get.answer(
    #"0{"sid":"e","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000}"#,
    [HTTPHeader(name: "set-cookie", value: "lb=a")])
  #expect(rig.transport.request.target == "/socket.io/?EIO=4&transport=websocket&sid=e")
  #expect(rig.transport.request.headers == [HTTPHeader(name: "Cookie", value: "lb=a")])
  connection.close()
}

@Test func upgradeIsLeftOutWhereItIsNotWantedOrNotOffered() {
  for (transports, upgrade, offered) in [
    ([TransportName.polling], true, true), ([.polling, .websocket], false, true),
    ([.polling, .websocket], true, false),
  ] {
    let rig = SocketIORig()
    let connection = rig.connection {
      $0.transports = transports
      $0.upgrade = upgrade
    }
    rig.requester.get.answer(
      #"0{"sid":"e","upgrades":[\#(offered ? #""websocket""# : "")],"pingInterval":25000,"pingTimeout":20000}"#)
    #expect(rig.dialer.transports.isEmpty && rig.requester.gets.count == 1)
    connection.close()
  }
}
