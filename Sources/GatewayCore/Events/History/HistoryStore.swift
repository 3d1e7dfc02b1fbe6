/// Keeps histories where a crash of the daemon cannot reach them. The daemon uses files in its state folder. Every call
/// does its work at once: nothing of it waits for a disk, unless the system's own memory is used up. What may be called
/// beside the loop, from the work of `beside`, says so.
public protocol HistoryStore: AnyObject {
  /// Tells the runs of the machine apart: what was written in an earlier one may be incomplete at its end.
  var boot: String { get }
  /// A check sum that finds damage. May be called beside the loop.
  func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32
  /// The segments of a history, the oldest first. One that was still being made when the daemon died is none.
  func segments(of name: String) throws(StorageProblem) -> [HistorySegment]
  /// What is in a segment, or why that will never be known. Throws where the segment is not to blame, but this moment
  /// is. May be called beside the loop.
  func content(of segment: HistorySegment) throws(StorageProblem) -> Result<[UInt8], StorageProblem>
  /// Begins a segment that is none before it is published. May be called beside the loop, and so may `append` of what
  /// it returns.
  func make(_ id: HistorySegment.ID) throws(StorageProblem) -> any HistoryFile
  func remove(_ id: HistorySegment.ID)
  /// Keeps a segment out of the way, for a person to look at. Returns where it is now.
  func setAside(_ id: HistorySegment.ID, as reason: HistoryAside) throws(StorageProblem) -> String
  /// Marks a segment: something that was given out is missing behind it.
  func cut(_ id: HistorySegment.ID) throws(StorageProblem)
  /// The names of all histories that there are.
  func names() -> [String]
  /// Whether there is one of a name. Looks at no file.
  func has(_ name: String) -> Bool
  /// What is known of one without reading it; nil where nothing is.
  func listing(of name: String) -> HistoryListing?
  /// Does what takes long beside the loop, if that is possible, and then calls `done` on the loop, never before this
  /// method has returned. The loop must not touch what `work` uses before that.
  func beside(_ work: @escaping () -> Void, _ done: @escaping () -> Void)
}

/// A segment that grows.
public protocol HistoryFile: AnyObject {
  /// Hands bytes to the system, all of them or, with an error, none.
  func append(_ bytes: UnsafeRawBufferPointer) throws(StorageProblem)
  /// Everything that was appended so far is there from now on, also for `segments(of:)`.
  func publish() throws(StorageProblem)
  /// Waits until it would survive the machine's power loss. To be called where no client waits.
  func sync()
}

/// A piece of a history, as it was found.
public struct HistorySegment: Equatable, Sendable {
  public struct ID: Hashable, Sendable {
    /// Of the history: letters, digits, `%`, `_` and `-`.
    public var name: String
    /// Grows from segment to segment.
    public var number: UInt64

    public init(name: String, number: UInt64) {
      self.name = name
      self.number = number
    }
  }

  public var id: ID
  /// Something that was given out is missing behind it.
  public var isCut: Bool
  /// Its length in bytes.
  var size: Int

  public init(id: ID, isCut: Bool, size: Int) {
    self.id = id
    self.isCut = isCut
    self.size = size
  }
}

/// What is known of a history without reading it.
public struct HistoryListing: Equatable, Sendable {
  var name: String
  public var segments: [HistorySegment.ID]
  /// When anything was written to it last, in milliseconds since 1970.
  public var modified: Int64
  /// The beginning of its newest segment; empty where that cannot be read.
  public var head: [UInt8]

  /// Longest beginning, in bytes.
  public static let headLimit = 4_096

  public init(name: String, segments: [HistorySegment.ID], modified: Int64, head: [UInt8]) {
    self.name = name
    self.segments = segments
    self.modified = modified
    self.head = head
  }
}

/// What became of a history on disk, for the log.
public enum HistoryReport: Equatable, Sendable {
  /// It is complete again.
  case working
  case failing(StorageProblem)
  /// A segment is not used any more, for a reason in a sentence, and is kept at a path.
  case setAside(path: String, detail: String)
}

/// Why a segment is kept out of the way: how the name of its file ends.
public enum HistoryAside: String, Sendable {
  case damaged
  /// The daemon had events of its own before it was to keep them on disk again: their numbers are not those of the
  /// file.
  case replaced
}
