import Testing

@testable import GatewayCore

@Suite struct RawWriterTests {
  private func written(_ body: (inout RawWriter) -> Void) -> String {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 128, alignment: 1)
    defer { memory.deallocate() }
    memory[0] = UInt8(ascii: ">")
    var writer = RawWriter(memory, at: 1)
    body(&writer)
    return String(decoding: memory[..<writer.end], as: UTF8.self)
  }

  @Test func numbersOfEveryLengthAreWrittenAsSwiftWritesThem() {
    var numbers: [UInt64] = [0, 1, 9, .max, .max - 1]
    var power: UInt64 = 10
    for _ in 1..<20 {
      numbers += [power - 1, power, power + 1, power &* 5 / 3]
      power &*= 10
    }
    for number in numbers {
      #expect(written { $0.put(DecimalText(number)) } == ">\(number)")
      #expect(written { $0.put(decimal: number) } == ">\(number)")
    }
  }

  @Test func aNumberThatGoesOnIsWrittenAsSwiftWritesIt() {
    var number = DecimalText(.max)
    let starts: [UInt64] = [0, 7, 98, 989, 9_998, 99_989, 1_999_999, .max - 3, 5]
    for start in starts {
      for value in [start, start + 1, start + 2, start + 3] {
        number.set(value)
        #expect(written { $0.put(number) } == ">\(value)")
        number.set(value)
        #expect(written { $0.put(number) } == ">\(value)")
      }
    }
    number = DecimalText(.max)
    number.set(0)
    #expect(written { $0.put(number) } == ">0")
  }

  @Test func aNumberThatJumpsIsWrittenAsSwiftWritesIt() {
    var number = DecimalText()
    let time: UInt64 = 1_699_999_999_999
    let values: [UInt64] = [
      1, 9, 10, 19, 100, 99, 101, 1_101, 2_101, 2_102, time, time + 1, time + 12, time + 112, time + 1_001, time - 1,
      9_999_999_999_999, 10_000_000_000_000, .max, 0, 7, 12, 12, 9,
    ]
    for value in values {
      number.set(value)
      #expect(written { $0.put(number) } == ">\(value)")
    }
  }

  @Test func textsFollowEachOther() {
    let name = Array(#""chat""#.utf8)
    #expect(
      written {
        $0.put("a")
        $0.put(name.span.bytes)
        $0.put(DecimalText(7))
        $0.put("")
      } == #">a"chat"7"#)
  }
}
