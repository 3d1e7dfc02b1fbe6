import Testing

@testable import GatewayCore

@Suite struct PreparedMessageTests {
  private static let plain = PreparedMessage(event: "say", body: Array("[1]".utf8))
  private static let binary = PreparedMessage(event: "say", body: Array("[1]".utf8), attachments: [[1], [2, 3]])
  private static let long = PreparedMessage(event: "say", head: Array("[1,".utf8), tail: Array("xx2]".utf8)[2...])

  @Test func aMessageHasWhatItWasMadeWith() {
    #expect(Self.plain.head == Array("[1]".utf8) && Self.plain.tail.isEmpty && Self.plain.attachments.isEmpty)
    #expect(Self.binary.attachments == [[1], [2, 3]] && Self.binary.attachmentCount == 2)
    #expect(Self.long.body == Array("[1,2]".utf8) && Self.long.tail == Array("2]".utf8)[...])
    #expect(Self.long.attachmentCount == 0)
  }

  @Test func allOfItCounts() {
    #expect(Self.plain.byteCount == 6 && Self.plain.bodyCount == 3)
    #expect(Self.binary.byteCount == 9 && Self.binary.bodyCount == 3)
    #expect(Self.long.byteCount == 8 && Self.long.bodyCount == 5)
  }

  @Test func partsThatAreEmptyAreAsGoodAsNone() {
    #expect(PreparedMessage(event: "say", body: Array("[1]".utf8), attachments: []) == Self.plain)
    #expect(PreparedMessage(event: "say", head: Array("[1]".utf8), tail: []) == Self.plain)
    #expect(Self.binary != Self.plain && Self.long != Self.plain)
  }

  @Test func anotherBodyTakesThePlaceOfHeadAndTail() {
    var message = Self.long
    message.body = Array("[1]".utf8)
    #expect(message == Self.plain)
    message = Self.binary
    message.body = []
    #expect(message.body.isEmpty && message.attachments == [[1], [2, 3]])
  }

  @Test func attachmentsComeOneAfterAnother() {
    var message = Self.plain
    message.attachments.append([1])
    let first = message
    message.attachments.append([2, 3])
    #expect(message == Self.binary && first.attachments == [[1]])
    message.attachments = []
    #expect(message == Self.plain)
  }

  @Test func whetherItMayBeCompressedStaysWithOtherContent() {
    var message = Self.binary
    message.compress = false
    message.attachments = []
    #expect(!message.compress && message != Self.plain)
    message.body = []
    #expect(!message.compress && message.tail.isEmpty)
    message.compress = true
    #expect(message == PreparedMessage(event: "say", body: []))
  }

  @Test(arguments: [plain, binary, long])
  func withoutItsContentAMessageKeepsItsNameAndWhetherItMayBeCompressed(_ message: PreparedMessage) {
    var message = message
    message.compress = false
    message.dropContent()
    #expect(message.event == "say" && !message.compress && message.byteCount == 3)
    #expect(message.body.isEmpty && message.attachments.isEmpty)
  }
}
