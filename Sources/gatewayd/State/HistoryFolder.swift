import CLinux
import GatewayCore
import Glibc

/// The histories in one of the daemon's folders: each segment is a file `NAME.NUMBER.log`, while it is being made `.new`, and
/// `.cut` once something is missing behind it. What is set aside gets a name of its own and is never touched again.
/// Decision 0095.
final class HistoryFolder: HistoryStore {
  static let name = "history"

  private enum Ending: String, CaseIterable {
    case log
    case cut
    case new
  }

  /// A file of a history.
  private struct Entry: Hashable {
    var number: UInt64
    var ending: Ending
  }

  let boot: String
  private let path: String
  /// For what takes long; nil: it is done at once.
  private var besideLoop: WorkBesideLoop?
  /// What is in the folder, by the names of the histories; nil before it is needed. Read once: only this daemon writes
  /// there as long as the daemon has locked the folder.
  private var index: [String: Set<Entry>]?

  /// Makes nothing yet: most daemons keep no history.
  init(in folder: String) {
    path = folder + "/" + Self.name
    boot = Self.readBoot()
  }

  /// What takes long is done beside this loop from now on.
  func attach(to loop: EventLoop) { besideLoop = WorkBesideLoop(loop) }

  func beside(_ work: @escaping () -> Void, _ done: @escaping () -> Void) {
    guard let besideLoop else {
      work()
      return done()
    }
    besideLoop.perform(work, done)
  }

  func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 { Zlib.checksum(bytes) }

  func segments(of name: String) throws(StorageProblem) -> [HistorySegment] {
    var found: [HistorySegment] = []
    for entry in try entries(of: name) {
      let id = HistorySegment.ID(name: name, number: entry.number)
      if entry.ending == .new {
        discard(place(id, .new))
        forget(id, [.new])
      } else {
        var facts = stat()
        let size = stat(place(id, entry.ending), &facts) == 0 ? Int(facts.st_size) : 0
        found.append(HistorySegment(id: id, isCut: entry.ending == .cut, size: size))
      }
    }
    return found
  }

  func content(of segment: HistorySegment) throws(StorageProblem) -> Result<[UInt8], StorageProblem> {
    try Self.read(place(segment.id, segment.isCut ? .cut : .log), upTo: Self.sizeLimit)
  }

  func make(_ id: HistorySegment.ID) throws(StorageProblem) -> any HistoryFile {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw StorageProblem("make the folder \(path)") }
    try Self.checkMemory(below: path)
    return try HistorySegmentFile(at: place(id, .new), later: place(id, .log), besideLoop) { [weak self] in
      self?.index?[id.name, default: []].insert(Entry(number: id.number, ending: .log))
    }
  }

  /// A file system in memory, as `/run` is one, has no quotas, and the whole machine stands still when it is full:
  /// histories leave a tenth of it free.
  private static func checkMemory(below path: String) throws(StorageProblem) {
    guard gw_is_memory_short(path, 10) else { return }
    throw StorageProblem(
      .full, "cannot make a file in \(path): less than a tenth of that memory is free, which others need")
  }

  func remove(_ id: HistorySegment.ID) {
    for ending in [Ending.log, .cut] { discard(place(id, ending)) }
    forget(id, [.log, .cut])
  }

  func setAside(_ id: HistorySegment.ID, as reason: HistoryAside) throws(StorageProblem) -> String {
    let from = access(place(id, .log), F_OK) == 0 ? place(id, .log) : place(id, .cut)
    let base = "\(path)/\(id.name).\(id.number).\(reason.rawValue)"
    // Names that are taken are not taken again.
    for attempt in 1...1_000 {
      let aside = attempt == 1 ? base : "\(base)-\(attempt)"
      guard access(aside, F_OK) != 0 else { continue }
      guard rename(from, aside) == 0 else { throw StorageProblem("set \(from) aside") }
      forget(id, [.log, .cut])
      return aside
    }
    throw StorageProblem(.failed, "cannot set \(from) aside: there are too many like it")
  }

  func cut(_ id: HistorySegment.ID) throws(StorageProblem) {
    guard rename(place(id, .log), place(id, .cut)) == 0 else {
      guard errno == ENOENT else { throw StorageProblem("mark \(place(id, .log)) as incomplete") }
      return
    }
    forget(id, [.log])
    index?[id.name, default: []].insert(Entry(number: id.number, ending: .cut))
  }

  func names() -> [String] { (try? readIndex()).map { Array($0.keys) } ?? [] }

  func has(_ name: String) -> Bool {
    (try? readIndex()[name])?.contains { $0.ending != .new } ?? false
  }

  func listing(of name: String) -> HistoryListing? {
    var listing = HistoryListing(name: name, segments: [], modified: 0, head: [])
    guard let entries = try? entries(of: name) else { return nil }
    for entry in entries where entry.ending != .new {
      let id = HistorySegment.ID(name: name, number: entry.number)
      let file = place(id, entry.ending)
      var facts = stat()
      guard stat(file, &facts) == 0 else { continue }
      listing.segments.append(id)
      listing.modified = max(listing.modified, Int64(facts.st_mtim.tv_sec) * 1_000)
      listing.head = (try? Self.read(file, upTo: HistoryListing.headLimit, isWhole: false))?.bytes ?? []
    }
    return listing.segments.isEmpty ? nil : listing
  }

  // MARK: - Files

  /// Largest segment that is read: more than the largest history has.
  private static let sizeLimit = 4 << 30

  private func place(_ id: HistorySegment.ID, _ ending: Ending) -> String {
    "\(path)/\(id.name).\(id.number).\(ending.rawValue)"
  }

  /// Removes a file. Its name is gone at once; what a long one takes on the disk is given back beside the loop, because
  /// that takes a tenth of a millisecond for each megabyte.
  private func discard(_ path: String) {
    guard let besideLoop else {
      unlink(path)
      return
    }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    unlink(path)
    if descriptor >= 0 { besideLoop.close(descriptor) }
  }

  /// The files of a history, by number.
  private func entries(of name: String) throws(StorageProblem) -> [Entry] {
    (try readIndex()[name] ?? []).sorted { $0.number < $1.number }
  }

  /// Files are not there any more under these endings.
  private func forget(_ id: HistorySegment.ID, _ endings: [Ending]) {
    guard var entries = index?[id.name] else { return }
    for ending in endings { entries.remove(Entry(number: id.number, ending: ending)) }
    index?[id.name] = entries.isEmpty ? nil : entries
  }

  private func readIndex() throws(StorageProblem) -> [String: Set<Entry>] {
    if let index { return index }
    let names: [String]
    do throws(SystemError) {
      names = try FolderNames.list(path)
    } catch {
      guard error.code == ENOENT else { throw StorageProblem(error) }
      names = []
    }
    var found: [String: Set<Entry>] = [:]
    for name in names {
      let parts = name.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 3, let number = UInt64(parts[1]), let ending = Ending(rawValue: String(parts[2])) else {
        continue
      }
      found[String(parts[0]), default: []].insert(Entry(number: number, ending: ending))
    }
    index = found
    return found
  }

  /// What is in a file, or why that will never be known. Throws where the file is not to blame, but this moment is.
  private static func read(
    _ path: String, upTo limit: Int, isWhole: Bool = true
  ) throws(StorageProblem) -> Result<[UInt8], StorageProblem> {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      let passes = [EMFILE, ENFILE, ENOMEM].contains(errno)
      let problem = StorageProblem("open \(path)")
      if passes { throw problem }
      return .failure(problem)
    }
    defer { close(descriptor) }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
      return .failure(StorageProblem(.failed, "\(path) is no regular file"))
    }
    guard !isWhole || facts.st_size <= limit else {
      return .failure(StorageProblem(.failed, "\(path) is larger than any history"))
    }
    let size = min(Int(facts.st_size), limit)
    var failure: StorageProblem?
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      while count < size {
        let got = Glibc.read(descriptor, buffer.baseAddress.unsafelyUnwrapped + count, size - count)
        if got < 0, errno == EINTR { continue }
        if got < 0 { failure = StorageProblem("read \(path)") }
        guard got > 0 else { return }
        count += got
      }
    }
    return failure.map { .failure($0) } ?? .success(bytes)
  }

  /// A text that the kernel makes up at each start.
  private static func readBoot() -> String {
    let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
      count = max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count))
    }
    return String(decoding: bytes.prefix { $0 > 32 }, as: UTF8.self)
  }
}

extension Result where Success == [UInt8], Failure == StorageProblem {
  /// Nil where there are none.
  fileprivate var bytes: [UInt8]? { try? get() }
}
