@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

/// Where log records go, and what they look like there.
struct JournalTests {
  private let record = LogRecord(
    .connectionDown, [.upstream: "chat", .reason: "refused", .detail: "no \"entry\"\n\u{1b}[31m", .command: nil])

  @Test func theJournalIsUsedOnlyWhenItIsDescriptorTwo() throws {
    let (one, other) = try Descriptors.pair()
    defer { Descriptors.close((one, other)) }
    let file = try FileIdentity(of: one)
    let stream = "\(file.device):\(file.inode)"
    #expect(Journal.isConnected(environment: { $0 == "JOURNAL_STREAM" ? stream : nil }, descriptor: one))
    #expect(!Journal.isConnected(environment: { $0 == "JOURNAL_STREAM" ? stream : nil }, descriptor: other))
    #expect(!Journal.isConnected(environment: { _ in "8:0" }, descriptor: one))
    #expect(!Journal.isConnected(environment: { _ in nil }, descriptor: one))
  }

  @Test func aRecordHasAFieldForEachFact() {
    #expect(
      Journal.fields(of: record) == [
        #"MESSAGE=connection down upstream=chat reason=refused detail="no \"entry\"\n\u{1b}[31m""#,
        "PRIORITY=4", "MESSAGE_ID=\(LogKind.connectionDown.identifier)", "SYSLOG_IDENTIFIER=gatewayd",
        "GATEWAY_UPSTREAM=chat", "GATEWAY_REASON=refused", "GATEWAY_DETAIL=no \"entry\"\n\u{1b}[31m",
      ])
  }

  @Test func everyKindHasAnIdentifierOfItsOwn() {
    let identifiers = Set(LogKind.allCases.map(\.identifier))
    #expect(identifiers.count == LogKind.allCases.count)
    #expect(identifiers.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
  }

  @Test func everyFieldHasAValidJournalName() {
    let names = LogField.allCases.map(\.journalName)
    #expect(Set(names).count == names.count)
    #expect(names.allSatisfy { $0.hasPrefix("GATEWAY_") && $0.utf8.count <= 64 })
    #expect(names.allSatisfy { $0.allSatisfy { $0 == "_" || ("A"..."Z").contains($0) } })
  }

  @Test func aTextLineHasTimeLevelMessageAndFacts() {
    #expect(
      String(
        decoding: TextLog.line(LogRecord(.started, [.version: "1.0.0", .pid: "7"]), at: 1_795_255_200_123),
        as: UTF8.self)
        == "2026-11-21T10:00:00.123Z notice started version=1.0.0 pid=7\n")
  }

  @Test func anOverlongValueIsCut() {
    let long = LogRecord(.connectionDown, [.detail: String(repeating: "x", count: 5_000)])
    #expect(long.facts.first?.value.utf8.count == LogRecord.valueLimit)
  }

  @Test func aReaderThatDoesNotReadLosesLinesAndNeverBlocks() throws {
    var ends: [Int32] = [-1, -1]
    #expect(pipe(&ends) == 0)
    // Programs that other tests start meanwhile get none of them.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { ends.forEach { close($0) } }
    let log = TextLog(descriptor: ends[1], time: SystemTime())
    for _ in 0..<5_000 { log.write(record) }
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    let taken = read(ends[0], &buffer, buffer.count)
    #expect(taken > 50_000 && taken < 5_000 * 60)
    log.write(record)
    let count = read(ends[0], &buffer, buffer.count)
    let line = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    #expect(line.hasPrefix("(") && line.contains(" lines lost) 2"))
  }
}
