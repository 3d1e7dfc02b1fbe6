import Testing

@testable import GatewayCore

/// A connection by long-polling, and what the tests say about it.
private final class PollingRig {
  let rig = SocketIORig()
  let connection: SocketIORig.Connection
  var requester: FakeRequester { rig.requester }

  static let handshake =
    #"0{"sid":"e","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000,"maxPayload":100}"#

  init(_ transports: [TransportName] = [.polling], _ change: (inout UpstreamSettings) -> Void = { _ in }) {
    connection = rig.connection {
      $0.transports = transports
      change(&$0)
    }
  }

  /// As far as the accepted namespace; a GET is pending then.
  func join() {
    requester.get.answer(Self.handshake)
    rig.turn()
    requester.post.answer("ok")
    requester.get.answer(#"40{"sid":"socket"}"#)
    rig.turn()
    _ = connection.log.take()
  }

  func send(_ name: String) throws {
    try connection.send(name)
    rig.turn()
  }

  var ending: UpstreamFailure? {
    guard case .ended(let failure) = connection.log.take().last else { return nil }
    return failure
  }
}

@Test func pollingNeverHasTwoRequestsOfAKind() throws {
  let polling = PollingRig()
  #expect(polling.requester.gets.count == 1 && polling.requester.posts.isEmpty)
  polling.join()
  for number in 0..<40 { try polling.send("n\(number)") }
  var names: [String] = []
  while let post = polling.requester.posts.first {
    #expect(polling.requester.posts.count == 1 && polling.requester.gets.count == 1)
    let packets = post.body.split(separator: "\u{1e}")
    #expect(packets.count <= 16 && post.body.utf8.count <= 100)
    names += packets.map { String($0.dropFirst(4).dropLast(2)) }
    post.answer("ok")
    polling.requester.get.answer("6")
  }
  #expect(names == (0..<40).map { "n\($0)" })
  #expect(polling.connection.log.take() == [])
}

@Test func manyPacketsOfOnePollAreHandedOutInTurns() {
  let polling = PollingRig()
  polling.join()
  let count = 1_005
  // So long takes each of them.
  polling.connection.log.onEvent = { _ in polling.rig.time.advance(by: .microseconds(100)) }
  polling.requester.get.answer((0..<count).map { "42[\"e\",\($0)]" }.joined(separator: "\u{1e}"))
  var entries: [ChannelLog.Entry] = []
  var turns = 0
  while true {
    let heard = polling.connection.log.take()
    // The next poll would end the session of a server that has said all of this.
    #expect(polling.requester.gets.isEmpty == (entries.count + heard.count < count))
    guard !heard.isEmpty else { break }
    #expect(heard.count <= 11)
    entries += heard
    turns += 1
    polling.rig.turn()
  }
  #expect(entries == (0..<count).map { .event("\"e\"(\($0))") } && turns > 50)
}

@Test func aConnectionThatIsLetGoHearsNothingOfTheRestOfItsPoll() {
  let polling = PollingRig()
  polling.join()
  polling.connection.log.onEvent = { channel in
    polling.rig.time.advance(by: .milliseconds(2))
    channel.close()
  }
  polling.requester.get.answer("42[\"a\"]\u{1e}42[\"b\"]")
  polling.rig.turn()
  #expect(polling.connection.log.take() == [.event("\"a\"()")])
}

@Test func pollsCarrySessionStampQueryAndCookies() throws {
  let rig = SocketIORig()
  let connection = rig.kind.connector(
    for: rig.specification(url: UpstreamURL(scheme: "http", host: "h", query: "u=1")) {
      $0.transports = [.polling]
      $0.headers = [HTTPHeader(name: "cookie", value: "own=1")]
    })
  let log = ChannelLog()
  let channel = connection.dial(owner: log)
  let opening = rig.requester.get
  #expect(opening.request.dial.target.hasPrefix("/socket.io/?EIO=4&transport=polling&t="))
  #expect(opening.request.answerLimit == .seconds(10))
  opening.answer(PollingRig.handshake, [HTTPHeader(name: "set-cookie", value: "lb=a; Path=/")])
  rig.turn()
  let (get, post) = (rig.requester.get, rig.requester.post)
  for one in [get, post] {
    #expect(one.request.dial.target.hasPrefix("/socket.io/?EIO=4&transport=polling&sid=e&t="))
    #expect(one.request.dial.target.hasSuffix("&u=1"))
    #expect(one.request.dial.headers == [HTTPHeader(name: "cookie", value: "own=1; lb=a")])
    #expect(one.request.answerLimit == .seconds(45))
  }
  #expect(get.request.dial.target != post.request.dial.target)
  #expect(post.request.contentType == "text/plain;charset=UTF-8" && post.body == "40")
  #expect(channel.facts.transport?.name == "polling")
}

@Test func binaryEventSplitOverTwoPollsIsDelivered() throws {
  let polling = PollingRig()
  polling.join()
  polling.requester.get.answer(#"451-["b",{"_placeholder":true,"num":0}]"#)
  polling.requester.get.answer("bAQI=\u{1e}42[\"n\"]")
  #expect(polling.connection.log.take() == [.event(#""b"({"$bin":"AQI="})"#), .event(#""n"()"#)])
}

@Test func oldServerIsRecognisedByItsFirstBody() throws {
  let polling = PollingRig()
  let handshake = SocketIORig.oldHandshake
  polling.requester.get.answer("\(handshake.count):\(handshake)2:40")
  #expect(polling.connection.log.take() == [.opened])
  #expect(polling.requester.all.count == 2, "the same answer was used, and the next poll began")
  try polling.connection.send("e", #"["😀",{"$bin":"AQI="}]"#)
  polling.rig.turn()
  let post = polling.requester.post
  let text = [UInt8](#"451-["e","😀",{"_placeholder":true,"num":0}]"#.utf8)
  #expect(post.request.body == [0, 4, 6, 0xff] + text + [1, 3, 0xff, 4, 1, 2])
  #expect(post.request.contentType == "application/octet-stream")
  polling.requester.get.answer(
    [0, 7, 0xff] + [UInt8](#"42["n"]"#.utf8), type: "application/octet-stream")
  #expect(polling.connection.log.take() == [.event(#""n"()"#)])
  #expect(polling.connection.channel?.facts.protocols.map(\.revision) == [3, 4])
}

@Test func binaryThatBeginsLikeMarkupIsNoWebPage() {
  let polling = PollingRig()
  let handshake = SocketIORig.oldHandshake
  polling.requester.get.answer("\(handshake.count):\(handshake)2:40")
  let head = [UInt8](#"451-["b",{"_placeholder":true,"num":0}]"#.utf8)
  let digits = String(head.count).utf8.map { $0 - 48 }
  polling.requester.get.answer([0] + digits + [0xff] + head, type: "application/octet-stream")
  polling.requester.get.answer([1, 5, 0xff, 4] + Array("<xml".utf8), type: "application/octet-stream")
  #expect(polling.connection.log.take() == [.opened, .event(#""b"({"$bin":"PHhtbA=="})"#)])
}

@Test(arguments: ["<html>", "\r\n\t <!doctype html>", "\u{feff}\n<html>"])
func pageThatAnswersAPollIsNamed(_ page: String) {
  let polling = PollingRig()
  polling.join()
  polling.requester.get.answer(page)
  let ending = polling.ending
  #expect(ending?.reason == .http && ending?.detail.contains("web page") == true)
}

@Test func serverOfRevisionThreeThatRefusesFourIsAskedAgainAtOnce() {
  let polling = PollingRig()
  polling.requester.get.answer(
    #""The client is using an unsupported version of the Socket.IO or Engine.IO protocols""#, status: 400)
  #expect(polling.requester.get.request.dial.target.hasPrefix("/socket.io/?EIO=3&transport=polling&t="))
  #expect(polling.ending == nil)
  polling.requester.get.answer("\(SocketIORig.oldHandshake.count):\(SocketIORig.oldHandshake)")
  polling.requester.get.answer("2:40")
  #expect(polling.connection.log.take() == [.opened])
}

@Test func leavingSendsWhatWaitsAndSaysGoodbye() throws {
  let polling = PollingRig()
  polling.join()
  try polling.send("a")
  let first = polling.requester.post
  try polling.send("b")
  polling.connection.close()
  #expect(!first.isCancelled)
  first.answer("ok")
  #expect(polling.requester.post.body == "42[\"b\"]\u{1e}41\u{1e}1")
  let get = polling.requester.get
  polling.requester.post.answer("ok")
  #expect(get.isCancelled && polling.requester.gets.isEmpty && polling.requester.posts.isEmpty)
}

@Test func goodbyeTakesNoLongerThanItMay() {
  let polling = PollingRig()
  polling.join()
  polling.connection.close()
  #expect(polling.requester.posts.count == 1)
  polling.rig.advance(PollingTransport.closeLimit)
  #expect(polling.requester.posts.isEmpty && polling.requester.gets.isEmpty)
}

@Test func serverThatLeftGetsNoGoodbye() {
  let polling = PollingRig()
  polling.join()
  polling.requester.get.answer("1")
  #expect(polling.ending == UpstreamFailure(.closed, "the server closed the session"))
  #expect(polling.requester.gets.isEmpty && polling.requester.posts.isEmpty)
}

@Test func volatileSendsSeeThatAPostIsUnderWay() throws {
  let polling = PollingRig()
  polling.join()
  #expect(polling.connection.channel?.isCongested == false && polling.connection.channel?.unsentBytes == 0)
  try polling.send("a")
  #expect(polling.connection.channel?.isCongested == true && polling.connection.channel?.unsentBytes == 7)
  polling.requester.post.answer("ok")
  #expect(polling.connection.channel?.isCongested == false && polling.connection.channel?.unsentBytes == 0)
}

@Test func messagesAreMeasuredAsTheyArePosted() throws {
  let polling = PollingRig()
  polling.join()
  let fits = #"[{"$bin":"\#(String(repeating: "AAAA", count: 24))"}]"#
  let above = #"[{"$bin":"\#(String(repeating: "AAAA", count: 25))"}]"#
  try polling.connection.send("b", fits)
  #expect(throws: MessageProblem.tooLarge(limit: 100, size: 101)) { try polling.connection.send("b", above) }
}

@Test func pollThatNobodyAnswersIsAHeartbeatThatStaysAway() {
  let polling = PollingRig()
  polling.join()
  polling.requester.get.fail(UpstreamFailure(.timeout, "no answer"))
  #expect(polling.ending?.reason == .heartbeat)
}

@Test func nextTransportIsTriedWithinTheSameAttempt() {
  let polling = PollingRig([.websocket, .polling])
  #expect(polling.requester.all.isEmpty)
  polling.rig.transport.fail(UpstreamFailure(.http, "HTTP 400", status: 400), body: #""Invalid transport""#)
  #expect(polling.requester.gets.count == 1 && polling.ending == nil)
  polling.join()
  #expect(polling.rig.dialer.transports.count == 1, "what failed in this attempt is not probed")
  #expect(polling.connection.channel?.facts.transport?.name == "polling")

  polling.connection.close()
  polling.connection.dial()
  #expect(polling.rig.dialer.transports.count == 1, "what worked comes first")
  polling.requester.get.answer(PollingRig.handshake)
  #expect(polling.rig.dialer.transports.count == 2, "and the WebSocket gets another chance")
}

@Test func eachTransportsFailureIsTold() {
  let polling = PollingRig([.websocket, .polling])
  polling.rig.transport.fail(UpstreamFailure(.closed, "gone"))
  polling.requester.get.answer("no", status: 404)
  #expect(
    polling.ending
      == UpstreamFailure(
        .http, "websocket: gone; polling: the server answered HTTP 404 instead of an Engine.IO handshake", status: 404))
}

@Test func unreachableServerIsNotTriedByAnotherTransport() {
  let polling = PollingRig([.websocket, .polling])
  polling.rig.transport.fail(UpstreamFailure(.unreachable, "no route"))
  #expect(polling.ending == UpstreamFailure(.unreachable, "no route"))
  #expect(polling.requester.all.isEmpty)
}

@Test func requestsUnderWayAreToldUpToWhenThisHostMayWrite() throws {
  let polling = PollingRig()
  polling.join()
  let limits = [3, 4].map { polling.rig.time.now + .seconds($0) }
  polling.connection.channel?.mayWrite(until: limits[0])
  try polling.send("a")
  #expect(polling.requester.all.filter(\.isPending).map(\.writeLimit) == [limits[0], limits[0]])
  polling.connection.channel?.mayWrite(until: limits[1])
  #expect(polling.requester.all.filter(\.isPending).map(\.writeLimit) == [limits[1], limits[1]])
}

@Test func nothingIsAskedWhileThisHostMayNotWrite() throws {
  let polling = PollingRig()
  polling.join()
  polling.connection.channel?.mayWrite(until: polling.rig.time.now)
  polling.requester.get.answer("6")
  try polling.send("a")
  #expect(polling.requester.gets.isEmpty && polling.requester.posts.isEmpty)
  polling.connection.channel?.mayWrite(until: polling.rig.time.now + .seconds(3))
  #expect(polling.requester.gets.count == 1 && polling.requester.post.body == #"42["a"]"#)
}

@Test func nothingIsAskedWhileReadingIsHeld() throws {
  let polling = PollingRig()
  polling.join()
  polling.connection.channel?.holdReading(true)
  polling.requester.get.answer("6")
  try polling.send("a")
  #expect(polling.requester.gets.isEmpty && polling.requester.post.body == #"42["a"]"#)
  polling.connection.channel?.holdReading(false)
  #expect(polling.requester.gets.count == 1)
}

@Test func aPostThatIsUnderWayEndsWithALinkThatMayNotWriteAnyMore() throws {
  let polling = PollingRig()
  polling.join()
  polling.connection.channel?.mayWrite(until: polling.rig.time.now + .seconds(3))
  try polling.send("a")
  let post = polling.requester.post
  polling.connection.channel?.mayWrite(until: polling.rig.time.now)
  polling.connection.close()
  #expect(post.isCancelled && polling.requester.all.allSatisfy { !$0.isPending })
}
