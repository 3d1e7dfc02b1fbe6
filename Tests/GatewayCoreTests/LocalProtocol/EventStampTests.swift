import Testing

@testable import GatewayCore

@Suite struct EventStampTests {
  @Test func theRoomIsEnoughForTheLargestNumbers() {
    var line: [UInt8] = []
    let (name, arguments) = (Array("7".utf8), [UInt8](repeating: UInt8(ascii: "1"), count: 9_999))
    LocalNotification.eventTail(
      seq: .max, time: .max, name: name.span.bytes, arguments: arguments.span.bytes, ack: nil, into: &line)
    #expect(line.count == 9_999 + 78)
    #expect(EventStamp.tailRoom >= 78)
  }
}
