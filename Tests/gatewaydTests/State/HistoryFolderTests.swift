@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

/// Histories as files.
@Suite struct HistoryFolderTests {
  private let directory: TemporaryDirectory
  private let history: TemporaryDirectory
  private let folder: HistoryFolder

  init() throws {
    directory = try TemporaryDirectory()
    // Made here so that it is emptied at the end.
    history = try TemporaryDirectory(in: directory.path)
    rename(history.path, directory / HistoryFolder.name)
    folder = HistoryFolder(in: directory.path)
  }

  private func id(_ number: UInt64, _ name: String = "chat-1") -> HistorySegment.ID {
    .init(name: name, number: number)
  }

  @discardableResult
  private func write(_ text: String, _ id: HistorySegment.ID) throws -> any HistoryFile {
    let file = try folder.make(id)
    try append(text, to: file)
    try file.publish()
    return file
  }

  private func append(_ text: String, to file: any HistoryFile) throws {
    let bytes = Array(text.utf8)
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(StorageProblem) in try file.append(bytes) }
    }
    try result.get()
  }

  private func contents(_ name: String = "chat-1") throws -> [String] {
    try folder.segments(of: name).map { segment in
      switch try folder.content(of: segment) {
      case .success(let bytes): "\(segment.id.number) \(String(decoding: bytes, as: UTF8.self))"
      case .failure(let problem): "\(segment.id.number) \(problem.message)"
      }
    }
  }

  private var names: [String] {
    guard let stream = opendir(directory / HistoryFolder.name) else { return [] }
    defer { closedir(stream) }
    var found: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if !name.hasPrefix(".") { found.append(name) }
    }
    return found.sorted()
  }

  private func clean() {
    for name in names { unlink(directory / HistoryFolder.name + "/" + name) }
    rmdir(directory / HistoryFolder.name)
  }

  @Test func segmentsComeBackInTheOrderOfTheirNumbers() throws {
    defer { clean() }
    try write("nine", id(9))
    try write("ten", id(10))
    try write("other", id(1, "news-2"))
    #expect(try contents() == ["9 nine", "10 ten"])
    #expect(try contents("news-2") == ["1 other"])
    #expect(try contents("nobody").isEmpty)
  }

  @Test func aFolderThatCannotBeListedIsNotTakenForAnEmptyOne() throws {
    defer { clean() }
    try write("one", id(1))
    let later = HistoryFolder(in: directory.path)
    let aside = directory / "aside"
    rename(directory / HistoryFolder.name, aside)
    // A link to itself, which nobody can follow.
    symlink(HistoryFolder.name, directory / HistoryFolder.name)
    #expect(throws: StorageProblem.self) { try later.segments(of: "chat-1") }
    #expect(later.names().isEmpty && !later.has("chat-1") && later.listing(of: "chat-1") == nil)
    unlink(directory / HistoryFolder.name)
    rename(aside, directory / HistoryFolder.name)
    #expect(try later.segments(of: "chat-1").map(\.id.number) == [1])
  }

  @Test func whatIsAppendedIsThereAtOnce() throws {
    defer { clean() }
    let file = try write("a", id(1))
    try append("b", to: file)
    #expect(try contents() == ["1 ab"])
  }

  @Test func aSegmentThatIsNotPublishedIsNone() throws {
    defer { clean() }
    var file: (any HistoryFile)? = try folder.make(id(1))
    _ = file
    #expect(names == ["chat-1.1.new"])
    #expect(try contents().isEmpty && names.isEmpty)
    file = nil
    file = try folder.make(id(2))
    file = nil
    #expect(names.isEmpty)
  }

  @Test func publishingNeverReplacesAFile() throws {
    defer { clean() }
    try write("first", id(1))
    #expect(throws: StorageProblem.self) { try write("second", id(1)) }
    #expect(try contents() == ["1 first"])
  }

  @Test func whatIsSetAsideKeepsItsContentAndIsNeverTouchedAgain() throws {
    defer { clean() }
    try write("first", id(1))
    let first = try folder.setAside(id(1), as: .damaged)
    try write("second", id(1))
    let second = try folder.setAside(id(1), as: .damaged)
    #expect(first != second && names == ["chat-1.1.damaged", "chat-1.1.damaged-2"])
    folder.remove(id(1))
    #expect(names.count == 2)
    #expect(try contents().isEmpty)
  }

  @Test func aMarkOutlivesTheDaemonAndMayBeSetTwice() throws {
    defer { clean() }
    try write("a", id(1))
    try folder.cut(id(1))
    try folder.cut(id(1))
    #expect(try HistoryFolder(in: directory.path).segments(of: "chat-1").map(\.isCut) == [true])
    folder.remove(id(1))
    #expect(names.isEmpty)
  }

  @Test func whatCannotBeReadIsTold() throws {
    defer { clean() }
    mkdir(directory / HistoryFolder.name + "/chat-1.3.log", 0o700)
    defer { rmdir(directory / HistoryFolder.name + "/chat-1.3.log") }
    let found = try contents()
    #expect(found.count == 1 && found[0].hasSuffix("is no regular file"))
  }

  @Test func theListTellsWhatIsThere() throws {
    defer { clean() }
    try write("a", id(1))
    try write("b", id(2))
    #expect(folder.names() == ["chat-1"] && folder.listing(of: "news-1") == nil)
    let listing = try #require(folder.listing(of: "chat-1"))
    #expect(listing.segments == [id(1), id(2)] && listing.head == Array("b".utf8))
    #expect(abs(listing.modified - SystemTime().wallMilliseconds) < 60_000)
  }

  @Test func theFolderIsReadOnceHoweverManyHistoriesAreOpened() throws {
    defer { clean() }
    try write("a", id(1))
    #expect(try contents() == ["1 a"])
    // Another daemon's: it is not looked at any more.
    try HistoryFolder(in: directory.path).make(id(1, "late-1")).publish()
    #expect(try contents("late-1").isEmpty)
    try write("b", id(2))
    try folder.cut(id(1))
    #expect(try contents() == ["1 a", "2 b"])
    folder.remove(id(1))
    _ = try folder.setAside(id(2), as: .damaged)
    try write("c", id(3))
    #expect(try contents() == ["3 c"])
    #expect(folder.names() == ["chat-1"])
  }

  @Test func whatALongFileTakesIsGivenBackBesideTheLoopAndItsNameIsGoneAtOnce() throws {
    defer { clean() }
    folder.attach(to: try EventLoop())
    let file = try write("a", id(1))
    for _ in 1...80 { try append(String(repeating: "x", count: 64 << 10), to: file) }
    #expect(try folder.segments(of: "chat-1").map(\.size) == [1 + 80 * (64 << 10)])
    folder.remove(id(1))
    #expect(try contents().isEmpty && names.isEmpty)
  }

  @Test func workBesideTheLoopIsToldOfOnTheLoopAndNeverBeforeTheCallHasReturned() throws {
    let loop = try EventLoop()
    let worker = WorkBesideLoop(loop)
    var order: [String] = []
    let mine = pthread_self()
    worker.perform({ order.append(pthread_equal(pthread_self(), mine) != 0 ? "here" : "beside") }) {
      order.append(pthread_equal(pthread_self(), mine) != 0 ? "loop" : "elsewhere")
      loop.exit(0)
    }
    _ = try loop.run()
    #expect(order == ["beside", "loop"])
  }

  @Test func theCheckSumIsTheUsualOne() {
    let text = Array("123456789".utf8)
    #expect(text.withUnsafeBytes { folder.checksum($0) } == 0xcbf4_3926)
    #expect(!folder.boot.isEmpty)
  }
}
