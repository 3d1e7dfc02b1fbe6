import GatewayCore
import Testing

@testable import gatewayctl

/// What `gatewayctl fleet` shows on a terminal.
@Suite struct FleetViewTests {
  private func text(
    redis: String = #"{"state":"working","server":"r1:6379","rtt":0.4}"#, isStopped: Bool = false,
    isColored: Bool = false, leftOut: String = ""
  ) throws -> String {
    let host =
      #"{"host":"edge-17","version":"1.1.0","may_hold":true,"alive":\#(!isStopped),"stopped":\#(isStopped),"#
      + #""heard":2100,"here":false,"#
      + #""upstreams":[{"upstream":"chat","namespace":"/","holds":true,"differs":[]}]}"#
    let upstream =
      #"{"upstream":"chat","namespace":"/","holder":"edge-17","term":1795232601218,"since":0,"#
      + #""conversation":1795232601219,"open":true,"epoch":"e7","hosts":2}"#
    let document =
      #"{"name":"prod","host":"edge-3","warning":null,"redis":\#(redis),"hosts":[\#(host)],"upstreams":[\#(upstream)]\#(leftOut)}"#
    return FleetView(
      document: try JSONValue.parse(Array(document.utf8).span.bytes), now: 7_200_000,
      palette: Palette(isColored: isColored)
    ).text
  }

  private let tables = """
    HOST     STATE  HEARD  MAY HOLD  HAS   VERSION
    edge-17  alive  2 s    yes       chat  1.1.0

    UPSTREAM  HOLDER   FOR  TERM           LINK  EPOCH  HOSTS
    chat      edge-17  2 h  1795232601218  up    e7     2

    """

  @Test func aHostThatWasStoppedInOrderIsShownAsSuch() throws {
    #expect(try text(isStopped: true).contains("edge-17  stopped  2 s "))
  }

  @Test func hostsThatTheAnswerHasNoRoomForAreCounted() throws {
    #expect(try !text(leftOut: #","left_out":{"hosts":0,"upstreams":0}"#).contains("more"))
    let shown = try text(leftOut: #","left_out":{"hosts":120,"upstreams":0}"#)
    #expect(shown.contains("1.1.0\n… and 120 hosts more, which did not fit into one answer\n\nUPSTREAM"))
  }

  @Test func theConversationIsNoColumn() throws {
    let shown = try text(redis: #"{"state":"working","server":"r1:6379","rtt":0.4,"detail":null}"#)
    #expect(shown == "fleet prod  this host is edge-3  Redis r1:6379, 0.4 ms\n\n" + tables)
  }

  @Test func aLinkThatWasSeenLastIsNotShownAsUp() throws {
    let good = "\u{1b}[32mup\u{1b}[0m"
    #expect(try text(redis: #"{"state":"working","server":"r1:6379","rtt":0.4}"#, isColored: true).contains(good))
    #expect(try !text(redis: #"{"state":"unreachable","server":null,"rtt":null}"#, isColored: true).contains(good))
  }

  @Test func whileRedisIsNotReachedItIsSaidThatTheTablesAreOld() throws {
    let shown = try text(redis: #"{"state":"unreachable","server":null,"rtt":null,"detail":"no connection"}"#)
    let head = "fleet prod  this host is edge-3  Redis is unreachable\nno connection\nwhat follows was seen last\n\n"
    #expect(shown == head + tables)
  }
}
