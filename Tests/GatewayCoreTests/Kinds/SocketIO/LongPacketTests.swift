import Testing

@testable import GatewayCore

@Suite struct LongPacketTests {
  private static func arguments(_ packet: SocketIOPacket) -> Range<Int>? {
    switch packet.content {
    case .event(_, let arguments), .acknowledgement(let arguments): arguments
    default: nil
    }
  }

  private static func parse(_ text: [UInt8], _ long: LongPacket?) -> Result<SocketIOPacket, SocketIOProblem> {
    do {
      var packet = try SocketIOPacket(parsing: text.span.bytes, from: 1, attachmentLimit: 10, long: long)
      if packet.isLocalForm, let arguments = arguments(packet) {
        let isNeeded = LocalForm.needsRewriting(text.span.bytes, arguments)
        #expect(!isNeeded)
      }
      packet.isLocalForm = false
      return .success(packet)
    } catch { return .failure(error) }
  }

  @Test(arguments: [
    #"42["name",{"a":[1,2,3]},"more"]"#, #"42/chat,17["name","text" , 5 ] "#, #"42["name"]"#, #"42[]"#,
    #"42[ "name" , 1 ]"#,
    #"42["name",]"#, #"42["name",1,]"#, #"42["name",1"#, #"42["name",1]]"#, #"42[1,2]"#, #"42[{"no":"name"},2]"#,
    #"42["connect",1]"#, #"42["name",{"$bin":"x"}]"#, "42[\"name\",\n1]", #"43["not",1]"#, #"4317["an answer" , 2]"#,
    #"4317[]"#, #"43/chat,17[1,]"#, #"43/chat,17[1,{"a":"b"}] "#, #"431["x",2]"#,
    #"452-["x"]"#, #"451-/chat,["name",{"_placeholder":true,"num":0}]"#, #"461-17[1,2]"#, #"451-["name",1"#,
    #"42"# + String(repeating: "[", count: 70),
    #"42["n","# + String(repeating: "[", count: 61) + String(repeating: "]", count: 62),
    #"42["n","# + String(repeating: "[", count: 62) + String(repeating: "]", count: 63), #"42["grüße","日本語"]"#,
  ])
  func anEventInPiecesIsTheSamePacket(_ text: String) {
    let bytes = Array(text.utf8)
    let expected = Self.parse(bytes, nil)
    for cut in 2...bytes.count {
      let come = Array(bytes[..<cut])
      var long = LongPacket(come.span.bytes, from: 1)
      long.advance(come.span.bytes)
      long.advance(bytes.span.bytes, isWhole: true)
      #expect(Self.parse(bytes, long) == expected, "cut at \(cut)")
    }
  }

  @Test func whatIsKnownIsUsed() throws {
    let bytes = Array(#"42["name",{"a":[1,2,3]},"more" ]"#.utf8)
    var long = LongPacket(bytes.span.bytes, from: 1)
    long.advance(bytes.span.bytes, isWhole: true)
    let known = try long.outline(bytes.span.bytes, array: 2)
    #expect(known?.range == 2..<bytes.count)
    #expect(known?.elements.map(\.value) == [3..<9, 10..<23, 24..<30])
    #expect(long.isLocalForm)
  }

  @Test func anotherTextIsNotTakenForTheOneThatWasBegun() throws {
    let begun = Array(#"42["name","a text of some length"#.utf8)
    let other = Array(#"40{"sid":"x"}"#.utf8)
    var long = LongPacket(begun.span.bytes, from: 1)
    long.advance(begun.span.bytes)
    long.advance(other.span.bytes, isWhole: true)
    let known = try long.outline(other.span.bytes, array: 2)
    #expect(known == nil)
  }
}
