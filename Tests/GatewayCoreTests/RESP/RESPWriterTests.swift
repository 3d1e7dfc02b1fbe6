import Testing

@testable import GatewayCore

@Suite struct RESPWriterTests {
  private func text(_ writer: RESPWriter) -> String { String(decoding: writer.bytes, as: UTF8.self) }

  @Test func aCommandIsAnArrayOfItsWords() {
    var writer = RESPWriter()
    writer.write("XADD") {
      $0.append("gw:f:{u}:ev")
      $0.append([0x0d, 0x0a, 0x00, 0xff])
      $0.append("" as String)
    }
    #expect(
      writer.bytes
        == Array("*4\r\n$4\r\nXADD\r\n$11\r\ngw:f:{u}:ev\r\n$4\r\n".utf8) + [0x0d, 0x0a, 0x00, 0xff]
        + Array("\r\n$0\r\n\r\n".utf8))
  }

  @Test func commandsStandOneBehindTheOther() {
    var writer = RESPWriter()
    writer.write("PING")
    writer.write("WAIT") {
      $0.append(1)
      $0.append(400)
    }
    #expect(text(writer) == "*1\r\n$4\r\nPING\r\n*3\r\n$4\r\nWAIT\r\n$1\r\n1\r\n$3\r\n400\r\n")
    writer.removeAll()
    writer.write("ROLE")
    #expect(text(writer) == "*1\r\n$4\r\nROLE\r\n")
  }

  @Test(arguments: [
    (0, "$1\r\n0"), (9, "$1\r\n9"), (10, "$2\r\n10"), (-1, "$2\r\n-1"), (-10, "$3\r\n-10"),
    (Int.max, "$19\r\n9223372036854775807"), (Int.min, "$20\r\n-9223372036854775808"),
  ])
  func aNumberIsAWordOfItsDigits(number: Int, word: String) {
    var writer = RESPWriter()
    writer.write("X") { $0.append(number) }
    #expect(text(writer) == "*2\r\n$1\r\nX\r\n\(word)\r\n")
  }

  @Test(arguments: [2, 9, 10, 11, 57, 99, 100, 101, 1_000])
  func allWordsAreCounted(count: Int) {
    var writer = RESPWriter()
    writer.write("PING")
    writer.write("HDEL") { for number in 1..<count { $0.append(number) } }
    #expect(text(writer).hasPrefix("*1\r\n$4\r\nPING\r\n*\(count)\r\n$4\r\nHDEL\r\n$1\r\n1\r\n"))
    #expect(text(writer).hasSuffix("\r\n\(count - 1)\r\n"))
  }
}
