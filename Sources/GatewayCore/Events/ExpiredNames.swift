/// The names of events that a history has let go, so that a gap can tell how many of them a subscriber would have been
/// given. Events of one name in a row cost one entry.
struct ExpiredNames {
  private struct Run {
    /// The name's JSON text; nil: not known.
    var name: [UInt8]?
    /// The place of its first event, and the one behind its last.
    let first: UInt64
    var end: UInt64

    var places: Range<UInt64> { first..<end }
  }

  /// Most entries; the older half is forgotten then.
  private static let runLimit = 1_024
  /// Longest name that is remembered, in bytes.
  private static let nameLimit = 128
  /// So many entries back an equal name is looked for, to be shared.
  private static let reach = 8

  /// Those that have ended, and the one that goes on. Empty at the beginning.
  private var ended: ContiguousArray<Run> = []
  private var last = Run(name: nil, first: 0, end: 0)

  /// The event at a place is gone. Places follow each other.
  @inline(__always)
  mutating func note(_ name: RawSpan?, at place: UInt64) {
    if last.end == place, Self.isSame(last.name, name) { last.end = place &+ 1 } else { begin(name, at: place) }
  }

  private mutating func begin(_ name: RawSpan?, at place: UInt64) {
    if last.end != place {
      ended = []
    } else if last.first < last.end {
      ended.append(last)
    }
    if ended.count >= Self.runLimit { ended.removeFirst(Self.runLimit / 2) }
    var known: RawSpan?
    if let name, name.byteCount <= Self.nameLimit { known = name }
    last = Run(name: remembered(known), first: place, end: place &+ 1)
  }

  /// The name as an array, shared with an entry not far back that has the same.
  private func remembered(_ name: RawSpan?) -> [UInt8]? {
    guard let name else { return nil }
    for run in ended.suffix(Self.reach).reversed() where Self.isSame(run.name, name) { return run.name }
    return name.withUnsafeBytes { [UInt8]($0) }
  }

  private var runs: some Sequence<Run> { [ended, [last]].joined() }

  @inline(__always)
  private static func isSame(_ a: [UInt8]?, _ b: RawSpan?) -> Bool {
    guard let a, let b else { return a == nil && b == nil }
    return a.span.bytes.isEqual(to: b)
  }

  /// The JSON texts of those that are known, some of them several times.
  var names: some Sequence<[UInt8]> { runs.lazy.compactMap(\.name) }

  /// How many of the events at these places a filter lets pass. Those whose names are not known any more count.
  func count(_ places: Range<UInt64>, matching filter: inout RememberingFilter) -> UInt64 {
    guard !filter.passesAll else { return UInt64(places.count) }
    var others: UInt64 = 0
    for run in runs {
      let shared = run.places.clamped(to: places)
      guard !shared.isEmpty, let name = run.name else { continue }
      if !filter.passes(name: name) { others += UInt64(shared.count) }
    }
    return UInt64(places.count) - others
  }
}
