import Testing

@testable import GatewayCore

@Suite struct FrameReaderTests {
  private struct Heard: Equatable {
    var items: [String] = []
    var problem: FrameReader.Problem?
  }

  private func hear(_ pieces: [[UInt8]], limit: Int = 1 << 20, compression: Bool = false) -> Heard {
    let reader = FrameReader(messageLimit: limit, allowsCompression: compression)
    var heard = Heard()
    for piece in pieces {
      do throws(FrameReader.Problem) {
        let result = piece.withUnsafeBytes { bytes in
          Result { () throws(FrameReader.Problem) in
            try reader.receive(bytes) { item, payload in
              heard.items.append("\(item) \(payload.count) \(payload.prefix(3).map { Int($0) })")
              return true
            }
          }
        }
        _ = try result.get()
      } catch {
        heard.problem = error
        return heard
      }
    }
    return heard
  }

  private func frame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
    switch payload.count {
    case ..<126: [first, UInt8(payload.count)] + payload
    case ..<65_536: [first, 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)] + payload
    default: [first, 127, 0, 0, 0, 0] + [24, 16, 8, 0].map { UInt8(payload.count >> $0 & 255) } + payload
    }
  }

  private func text(_ payload: [UInt8]) -> [UInt8] { frame(0x81, payload) }

  @Test func lengthsOfEveryFormAreRead() {
    let lengths = [0, 1, 125, 126, 127, 65_535, 65_536, 70_000]
    let bytes = lengths.flatMap { text([UInt8](repeating: 7, count: $0)) }
    let expected = lengths.map {
      "message(\(MessageKind.text), isCompressed: false) \($0) \([Int](repeating: 7, count: min(3, $0)))"
    }
    #expect(hear([bytes]).items.map { $0.replacing("GatewayCore.MessageKind.", with: "") } == expected)
  }

  @Test func aCutAnywhereChangesNothing() {
    let long = [UInt8](repeating: 9, count: 300)
    let bytes =
      text([1, 2]) + frame(0x01, [3]) + frame(0x89, [4, 5]) + frame(0x00, long) + frame(0x8a, []) + frame(0x80, [])
      + frame(0x82, long) + frame(0xc1, [6]) + frame(0x88, [3, 232])
    let whole = hear([bytes], compression: true)
    #expect(whole.problem == nil)
    #expect(whole.items.count == 7)
    for cut in 0...bytes.count {
      #expect(hear([Array(bytes[..<cut]), Array(bytes[cut...])], compression: true) == whole, "\(cut)")
    }
    #expect(hear(bytes.map { [$0] }, compression: true) == whole)
  }

  @Test(
    arguments: [
      ("masked", [0x81, 0x80, 0, 0, 0, 0]), ("a reserved bit", [0xa1, 0]), ("another reserved bit", [0x91, 0]),
      ("compression that nobody agreed on", [0xc1, 0]), ("an unknown opcode", [0x83, 0]),
      ("an unknown control opcode", [0x8b, 0]), ("a continuation of nothing", [0x80, 0]),
      ("a message within a message", [0x01, 1, 65, 0x81, 0]), ("a fragmented ping", [0x09, 0]),
      ("a long ping", [0x89, 126, 0, 126]), ("16 bits for a small length", [0x81, 126, 0, 125]),
      ("64 bits for a small length", [0x81, 127, 0, 0, 0, 0, 0, 0, 255, 255]),
      ("a length with the highest bit", [0x81, 127, 255, 0, 0, 0, 0, 0, 0, 0]),
    ] as [(String, [UInt8])])
  func whatBreaksTheRulesEndsTheReading(_ what: String, _ bytes: [UInt8]) {
    #expect(hear([bytes]).problem == .violation, "\(what)")
    #expect(hear(bytes.map { [$0] }).problem == .violation, "\(what), byte by byte")
  }

  @Test func aMarkOnAContinuationOrAControlFrameBreaksTheRules() {
    #expect(hear([frame(0x41, [1]) + frame(0xc0, [1])], compression: true).problem == .violation)
    #expect(hear([frame(0xc9, [])], compression: true).problem == .violation)
  }

  @Test func theLimitCountsAllFramesOfAMessageBeforeTheyHaveCome() {
    #expect(hear([text([1, 2, 3, 4])], limit: 4).problem == nil)
    #expect(hear([[0x81, 5]], limit: 4).problem == .tooLarge)
    #expect(hear([frame(0x01, [1, 2, 3]) + [0x80, 2]], limit: 4).problem == .tooLarge)
    #expect(hear([[0x81, 127, 0x7f, 255, 255, 255, 255, 255, 255, 255]], limit: 4).problem == .tooLarge)
  }

  @Test func messagesThatNobodyWantsAreReadOver() throws {
    let reader = FrameReader(messageLimit: 1_000, allowsCompression: false)
    reader.ignoresMessages = true
    var items: [FrameReader.Item] = []
    let bytes = text([1]) + frame(0x01, [2]) + frame(0x80, [3]) + frame(0x88, [])
    for byte in bytes {
      _ = try [byte].withUnsafeBytes { bytes in
        try reader.receive(bytes) { item, _ in
          items.append(item)
          return true
        }
      }
    }
    #expect(items == [.close])
  }

  @Test func whatIsNotWantedNowComesWhenItIsAskedForAgain() throws {
    let reader = FrameReader(messageLimit: 1_000, allowsCompression: false)
    let bytes = text([1]) + frame(0x01, [2]) + frame(0x89, [3]) + frame(0x80, [4]) + text([5]) + [0x81]
    var items: [[UInt8]] = []
    var rests: [Int] = []
    try bytes.withUnsafeBytes { bytes in
      var rest = bytes.count
      repeat {
        rest = try reader.receive(UnsafeRawBufferPointer(rebasing: bytes.suffix(rest))) { _, payload in
          items.append([UInt8](payload))
          return false
        }
        rests.append(rest)
      } while rest > 0
    }
    // One item at a time; the head that was cut off is taken with nothing behind it.
    #expect(items == [[1], [3], [2, 4], [5]])
    #expect(rests == [13, 7, 4, 1, 0])
    try [UInt8]([1, 6]).withUnsafeBytes { bytes in
      let rest = try reader.receive(bytes) { _, payload in
        items.append([UInt8](payload))
        return true
      }
      #expect(rest == 0)
    }
    #expect(items.last == [6])
  }
}
