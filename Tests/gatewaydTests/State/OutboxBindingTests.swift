@testable import GatewayCore
import Testing

@testable import gatewayd

/// Statements keep what they are bound to from one row to the next.
@Suite struct OutboxBindingTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  private func open() throws(StorageProblem) -> OutboxFile.Contents {
    try OutboxFile(in: folder.path, now: 77).open()
  }

  @Test func aRowHoldsNothingOfTheOneBefore() throws {
    // Around what is written together with others.
    let lengths = [0, 1, 4, 4, 63, 64, 65, 200, 4, 8_000, 9_000, 17_000, 64, 0, 70_000, 1]
    var entries: [OutboxEntry] = []
    for (index, length) in lengths.enumerated() {
      let number = UInt64(index) + 1
      let text = String(repeating: Character(UnicodeScalar(UInt8(97 + index))), count: length)
      var entry = index.isMultiple(of: 3) ? OutboxSamples.full(number) : OutboxSamples.plain(number, bytes: length)
      entry.message.event = text
      entry.key = index.isMultiple(of: 2) ? text : nil
      entry.coalesce = index.isMultiple(of: 4) ? nil : text
      entry.reason = text
      entry.result = index.isMultiple(of: 5) ? nil : Array(text.utf8)
      entry.retries = index.isMultiple(of: 2) ? 3 : nil
      entries.append(entry)
    }
    do {
      let database = try open().database
      try database.apply(entries.map { .adding($0) })
      // Once more, each on top of another one's values.
      for entry in entries.reversed() { try database.apply([.updating(entry)]) }
      #expect(database.load().entries == entries)
    }
    // One at a time has the file.
    #expect(try open().entries == entries)
  }

  /// There are statements for one row and for several.
  @Test(arguments: [1, 3, 4, 5, 15, 16, 17, 40] as [UInt64])
  func aNewEntryWhoseNumberIsThereIsWrittenOverIt(_ count: UInt64) throws {
    let database = try open().database
    let before = (1...count).filter { $0.isMultiple(of: 3) }.map { OutboxSamples.plain($0, bytes: 10) }
    try database.apply(before.map { .adding($0) })
    let entries = (1...count).map { OutboxSamples.plain($0, bytes: 20) }
    try database.apply(entries.map { .adding($0) })
    #expect(database.load().entries == entries)
    let ended = entries.map { entry in
      var entry = entry
      entry.state = .sent
      return entry
    }
    let changes: [OutboxChange] = zip(entries, ended).flatMap { [OutboxChange.adding($0), OutboxChange.updating($1)] }
    try database.apply(changes)
    #expect(database.load().entries == ended)
  }
}
