import Testing

@testable import GatewayCore

/// What is written is what is read, however long it is.
@Suite struct HistoryWriterTests {
  private func readBack(_ record: HistoryRecord) throws -> [HistoryRecord] {
    let store = FakeHistoryStore()
    var writer = HistoryWriter()
    writer.write(record)
    writer.close(store.checksum)
    var reader = HistoryReader(HistoryWriter.prefix + writer.bytes, checksum: store.checksum)
    var records: [HistoryRecord] = []
    try reader.read {
      records.append($0)
      return true
    }
    return records
  }

  /// Characters of two bytes: the 65,535 bytes that a text may have end in the middle of one.
  private let long = String(repeating: "ä", count: 40_000)

  @Test func aNameThatIsTooLongIsNoNameAndNeverHalfACharacter() throws {
    #expect(
      try readBack(.hole(arrival: 1, .tooLarge, name: long)) == [.hole(arrival: 1, .tooLarge, name: nil)])
    let longest = String(long.prefix(32_767))
    #expect(
      try readBack(.hole(arrival: 1, .tooLarge, name: longest)) == [.hole(arrival: 1, .tooLarge, name: longest)])
  }

  @Test func aResumptionThatIsTooLongIsNone() throws {
    let resumption = Resumption(session: "s", offset: long)
    #expect(try readBack(.resumption(resumption, target: 7)) == [.resumption(nil, target: 7)])
  }

  @Test func aNamespaceThatIsTooLongLeavesTheHeaderReadable() throws {
    let header = HistoryHeader(boot: "b", age: 1, upstream: "chat", namespace: long, isComplete: true)
    var short = header
    short.namespace = ""
    #expect(try readBack(.header(header)) == [.header(short)])
  }
}
