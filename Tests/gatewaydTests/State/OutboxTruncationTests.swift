@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

/// The files after a crash that cut their ends off, at every byte. In memory: thousands of files are opened.
@Suite struct OutboxTruncationTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory(in: "/dev/shm") }

  /// Every transaction adds one entry; the files are those of a daemon that was killed.
  private func crashed(_ count: UInt64, in original: String) throws -> (file: [UInt8], log: [UInt8], ends: [Int]) {
    var ends: [Int] = []
    let database = try OutboxDatabase(path: original)
    for number in 1...count {
      try database.apply([.adding(OutboxSamples.plain(number))])
      ends.append(OutboxSamples.read(original + "-wal").count)
    }
    return (OutboxSamples.read(original), OutboxSamples.read(original + "-wal"), ends)
  }

  @Test func logThatWasCutKeepsEveryTransactionBeforeTheCut() throws {
    let (file, log, ends) = try crashed(12, in: folder / "original")
    let path = folder / OutboxFile.name
    for cut in stride(from: log.count, through: log.count - 2 * 4_120, by: -1) {
      OutboxSamples.write(file, to: path)
      OutboxSamples.write(Array(log.prefix(cut)), to: path + "-wal")
      let contents = try OutboxFile(in: folder.path, now: 1).open()
      contents.database.keepAsItIs()
      let whole = ends.count { $0 <= cut }
      guard contents.entries == (1...UInt64(whole)).map({ OutboxSamples.plain($0) }), contents.repair == nil else {
        Issue.record("cut at \(cut): \(contents.entries.map(\.number)) instead of \(whole)")
        return
      }
    }
  }

  @Test func fileThatWasCutIsSetAsideAndKeepsWhatItsPagesHold() throws {
    do {
      let database = try OutboxDatabase(path: folder / "original")
      try database.apply((1...60).map { .adding(OutboxSamples.plain($0)) })
    }
    let file = OutboxSamples.read(folder / "original")
    let path = folder / OutboxFile.name
    for cut in stride(from: file.count - 1, through: file.count - 2 * 4_096 - 100, by: -31) {
      for name in folder.names where name.hasPrefix(OutboxFile.name) { unlink(folder / name) }
      OutboxSamples.write(Array(file.prefix(cut)), to: path)
      let contents = try OutboxFile(in: folder.path, now: 1).open()
      guard contents.entries.count > 20, contents.entries.allSatisfy({ $0 == OutboxSamples.plain($0.number) }),
        OutboxSamples.read(path + ".damaged-1").count == cut
      else {
        Issue.record("cut at \(cut): \(contents.entries.map(\.number)) \(String(describing: contents.repair))")
        return
      }
    }
  }
}
