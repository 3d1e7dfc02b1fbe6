/// The names of events that a history has let go, so that a gap can tell how many of them a subscriber would have been
/// given. Events of one name in a row cost one entry.
struct ExpiredNames {
  private struct Run {
    /// The name's JSON text; nil: not known.
    var name: [UInt8]?
    /// The place of its first event, and the one behind its last.
    var places: Range<UInt64>
  }

  /// Most entries; the older half is forgotten then.
  private static let runLimit = 1_024
  /// Longest name that is remembered, in bytes.
  private static let nameLimit = 128
  /// So many entries back an equal name is looked for, to be shared.
  private static let reach = 8

  private var runs: ContiguousArray<Run> = []

  /// The event at a place is gone. Places follow each other.
  @inline(__always)
  mutating func note(_ name: RawSpan?, at place: UInt64) {
    if let last = runs.indices.last, runs[last].places.upperBound == place, Self.isSame(runs[last].name, name) {
      runs[last].places = runs[last].places.lowerBound..<place &+ 1
    } else {
      begin(name, at: place)
    }
  }

  private mutating func begin(_ name: RawSpan?, at place: UInt64) {
    if let last = runs.last, last.places.upperBound != place { runs = [] }
    if runs.count >= Self.runLimit { runs.removeFirst(Self.runLimit / 2) }
    var known: RawSpan?
    if let name, name.byteCount <= Self.nameLimit { known = name }
    runs.append(Run(name: remembered(known), places: place..<place &+ 1))
  }

  /// The name as an array, shared with an entry not far back that has the same.
  private func remembered(_ name: RawSpan?) -> [UInt8]? {
    guard let name else { return nil }
    for run in runs.suffix(Self.reach).reversed() where Self.isSame(run.name, name) { return run.name }
    return name.withUnsafeBytes { [UInt8]($0) }
  }

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
