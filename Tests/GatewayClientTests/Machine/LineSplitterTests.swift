import Testing

@testable import GatewayClient

@Suite struct LineSplitterTests {
  @Test func linesAreTheSameWhereverTheyAreCut() {
    let text = Array("one\n\nthree, which is longer\nfour".utf8)
    for first in 0...text.count {
      for second in first...text.count {
        var splitter = LineSplitter()
        var lines: [[UInt8]] = []
        for piece in [text[..<first], text[first..<second], text[second...]] { splitter.take(piece, into: &lines) }
        #expect(lines.map { String(decoding: $0, as: UTF8.self) } == ["one", "", "three, which is longer"])
        #expect(splitter.unfinished == 4)
      }
    }
  }
}
