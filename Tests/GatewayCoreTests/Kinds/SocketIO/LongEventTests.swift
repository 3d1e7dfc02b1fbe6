import Testing

@testable import GatewayCore

/// What is longer than a line of a local program is a gap or a failed answer, and nothing is written anew or decoded for it.
@Suite struct LongEventTests {
  private let rig = SocketIORig()

  private func joined(
    _ lineLimit: Int = 200, _ change: (inout UpstreamSettings) -> Void = { _ in }
  ) -> SocketIORig.Connection {
    let connection = rig.joined("/", change)
    connection.log.lineLimit = lineLimit
    return connection
  }

  private func text(_ count: Int) -> String { String(repeating: "x", count: count) }

  @Test func anEventLongerThanALineIsToldByItsName() {
    let connection = joined(2_000)
    rig.transport.receive(#"42["e","\#(text(3_000))"]"#, #"4217["f",{"$bin":"\#(text(3_000))"}]"#, #"42["g",1]"#)
    #expect(
      connection.log.take() == [
        .tooLong(#""e" of 3005 bytes"#), .tooLong(#""f" of 3014 bytes#17"#), .event(#""g"(1)"#),
      ])
  }

  @Test func oneThatComesInPiecesIsTheSame() {
    let connection = joined(2_000)
    rig.transport.receive(#"42["e","\#(text(3_000))"]"#, inPiecesOf: 50)
    rig.transport.receive(#"42["e","\#(text(1_500))"]"#, inPiecesOf: 5)
    #expect(connection.log.take() == [.tooLong(#""e" of 3005 bytes"#), .event(#""e"("\#(text(1_500))")"#)])
  }

  @Test func attachmentsThatFitIntoNoLineAreNotKept() {
    let connection = joined()
    rig.transport.receive(#"452-["e",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]"#)
    rig.transport.receive(binary: [UInt8](repeating: 1, count: 60))
    rig.transport.receive(binary: [UInt8](repeating: 1, count: 90))
    rig.transport.receive(#"451-["f",{"_placeholder":true,"num":0}]"#)
    rig.transport.receive(binary: [255])
    #expect(connection.log.take() == [.tooLong(#""e" of 262 bytes"#), .event(#""f"({"$bin":"/w=="})"#)])
  }

  @Test func base64ThatFitsIntoNoLineIsNotDecoded() {
    let connection = joined()
    rig.transport.receive(#"451-["e",{"_placeholder":true,"num":0}]"#, "b" + String(repeating: "?", count: 100_000))
    #expect(connection.log.take() == [.tooLong(#""e" of 100032 bytes"#)])
  }

  @Test func copiesOfAnAttachmentThatFitIntoNoLineAreNotWritten() {
    let connection = joined { $0.messageLimit = 100_000 }
    let places = [String](repeating: #"{"_placeholder":true,"num":0}"#, count: 4).joined(separator: ",")
    rig.transport.receive(#"451-["e",\#(places)]"#)
    rig.transport.receive(binary: [UInt8](repeating: 1, count: 30))
    #expect(connection.log.take() == [.tooLong(#""e" of 207 bytes"#)])
  }

  @Test func anAnswerLongerThanALineIsToldByItsLength() throws {
    let connection = joined(2_000)
    try connection.send("ask", ack: 7)
    rig.transport.receive(#"430["\#(text(3_000))"]"#)
    #expect(connection.log.take() == [.tooLong("7 of 3002 bytes")])
  }

  @Test func oneThatComesEarlyIsToldWhenTheNamespaceIsAccepted() {
    let connection = rig.connection()
    connection.log.lineLimit = 2_000
    rig.transport.open()
    rig.transport.receive(SocketIORig.handshake, #"42["e","\#(text(3_000))"]"#, #"40{"sid":"socket"}"#)
    #expect(connection.log.take() == [.opened, .tooLong(#""e" of 3005 bytes"#)])
  }

  @Test func itsOffsetCountsAsReceived() {
    let connection = rig.connection()
    connection.log.lineLimit = 2_000
    rig.transport.open()
    rig.transport.receive(SocketIORig.handshake, #"40{"sid":"socket","pid":"private"}"#)
    rig.transport.receive(#"42["a",1,"Q7yBO7n"]"#, #"42["e","\#(text(3_000))","Q7yBO7o"]"#)
    #expect(connection.connector.resumption?.offset == "Q7yBO7o")
  }

  @Test func whatIsLongBeforeItsPayloadIsNobodys() {
    let connection = joined()
    rig.transport.receive("42/\(text(20_000)),[\"e\"]", #"42["g",1]"#)
    #expect(connection.log.take() == [.event(#""g"(1)"#)])
  }

  @Test(arguments: [16, 1_000, 100_000])
  func aLongRefusalThatComesInPiecesHasItsWords(_ size: Int) {
    let connection = rig.connection()
    rig.transport.open()
    rig.transport.receive(SocketIORig.handshake)
    rig.transport.receive(#"44{"data":["\#(text(70_000))"],"message":"no room"}"#, inPiecesOf: size)
    #expect(
      connection.log.take() == [
        .ended(
          UpstreamFailure(
            .refused, "the server refused the namespace /: no room", serverMessage: "no room", serverData: nil))
      ])
  }
}
