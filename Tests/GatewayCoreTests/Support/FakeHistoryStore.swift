@testable import GatewayCore

/// A disk for histories that the test plays. It outlives the gateways of a test.
final class FakeHistoryStore: HistoryStore {
  struct Stored {
    var bytes: [UInt8]
    var isCut = false
  }

  var boot = "boot-1"
  private(set) var stored: [HistorySegment.ID: Stored] = [:]
  private(set) var aside: [String: [UInt8]] = [:]
  /// Answers every write; nil writes.
  var problem: StorageProblem?
  /// Answers when segments are looked for; nil lists them.
  var listingProblem: StorageProblem?
  /// Answers when a segment is marked as cut; nil marks it.
  var markProblem: StorageProblem?
  /// What is to be done beside the loop waits for `doWork`.
  var holdsWork = false
  /// A segment was begun and is not published.
  private(set) var isMaking = false
  /// In bytes.
  var largestWrite = 0
  private var held: [(work: () -> Void, done: () -> Void)] = []
  /// How often bytes were handed over.
  private(set) var writes = 0
  private(set) var syncs = 0
  /// How often a history was looked at.
  private(set) var listings = 0
  /// When everything was written last, in milliseconds since 1970.
  var modified: Int64 = 0

  /// A plain sum, weighed by the place.
  func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    bytes.reduce(UInt32(1)) { ($0 &* 31) &+ UInt32($1) }
  }

  func segments(of name: String) throws(StorageProblem) -> [HistorySegment] {
    if let listingProblem { throw listingProblem }
    return stored.filter { $0.key.name == name }.sorted { $0.key.number < $1.key.number }.map {
      HistorySegment(id: $0.key, isCut: $0.value.isCut, size: $0.value.bytes.count)
    }
  }

  func content(of segment: HistorySegment) throws(StorageProblem) -> Result<[UInt8], StorageProblem> {
    if let listingProblem { throw listingProblem }
    return .success(stored[segment.id]?.bytes ?? [])
  }

  func beside(_ work: @escaping () -> Void, _ done: @escaping () -> Void) {
    guard holdsWork else {
      work()
      return done()
    }
    held.append((work, done))
  }

  /// Does the first piece of what is to be done beside the loop. False where there is none.
  @discardableResult
  func doWork() -> Bool {
    guard !held.isEmpty else { return false }
    let (work, done) = held.removeFirst()
    work()
    done()
    return true
  }

  func make(_ id: HistorySegment.ID) throws(StorageProblem) -> any HistoryFile {
    if let problem { throw problem }
    isMaking = true
    return FakeFile(store: self, id: id)
  }

  func remove(_ id: HistorySegment.ID) { stored[id] = nil }

  func setAside(_ id: HistorySegment.ID, as reason: HistoryAside) throws(StorageProblem) -> String {
    let path = "/aside/\(id.number)-\(aside.count)"
    aside[path] = stored.removeValue(forKey: id)?.bytes
    return path
  }

  func cut(_ id: HistorySegment.ID) throws(StorageProblem) {
    if let markProblem { throw markProblem }
    stored[id]?.isCut = true
  }

  func names() -> [String] { Set(stored.keys.map(\.name)).sorted() }

  func has(_ name: String) -> Bool { stored.keys.contains { $0.name == name } }

  func listing(of name: String) -> HistoryListing? {
    listings += 1
    let ids = stored.keys.filter { $0.name == name }.sorted { $0.number < $1.number }
    guard let last = ids.last else { return nil }
    let head = stored[last]?.bytes.prefix(HistoryListing.headLimit)
    return HistoryListing(name: name, segments: ids, modified: modified, head: head.map(Array.init) ?? [])
  }

  /// Changes the newest segment.
  func damage(_ change: (inout [UInt8]) -> Void) {
    guard let newest = stored.keys.max(by: { $0.number < $1.number }), var bytes = stored[newest]?.bytes else { return }
    change(&bytes)
    stored[newest]?.bytes = bytes
  }

  /// What another disk has and this one has not.
  func add(_ other: FakeHistoryStore) { stored.merge(other.stored) { mine, _ in mine } }

  /// The newest segment.
  var newest: [UInt8] { stored.max { $0.key.number < $1.key.number }?.value.bytes ?? [] }
  var byteCount: Int { stored.values.reduce(0) { $0 + $1.bytes.count } }

  /// The disk as it is now, as a machine that lost its power finds it.
  func copy() -> FakeHistoryStore {
    let copy = FakeHistoryStore()
    copy.boot = boot
    copy.stored = stored
    return copy
  }

  private final class FakeFile: HistoryFile {
    let store: FakeHistoryStore
    let id: HistorySegment.ID
    var unpublished: [UInt8]? = []

    init(store: FakeHistoryStore, id: HistorySegment.ID) {
      self.store = store
      self.id = id
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws(StorageProblem) {
      if let problem = store.problem { throw problem }
      store.writes += 1
      store.largestWrite = max(store.largestWrite, bytes.count)
      if unpublished != nil { unpublished?.append(contentsOf: bytes) } else { store.stored[id]?.bytes += bytes }
    }

    func publish() throws(StorageProblem) {
      if let problem = store.problem { throw problem }
      // As in a folder: what is there under that name is never replaced.
      guard store.stored[id] == nil else { throw StorageProblem(.failed, "put it in its place: file exists") }
      store.stored[id] = Stored(bytes: unpublished ?? [])
      unpublished = nil
      store.isMaking = false
    }

    func sync() { store.syncs += 1 }
  }
}
