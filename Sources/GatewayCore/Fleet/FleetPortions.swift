/// A table of the engine that may be long, a portion at a time: of thousands of rows, or of long ones, each portion is taken
/// in a turn of its own, and no more than one is there beside what is kept of it.
struct FleetPortions {
  let key: FleetKey
  let engine: any FleetEngine
  /// Longer rows are passed over, and not read.
  var rowLimit = FleetPortions.longest

  /// Rows of one portion: some two milliseconds of work.
  static let portion = 256
  /// Bytes of one portion, unless a single row has more.
  static let bytes = 1 << 20
  /// What an answer of the engine may have, without what is around it.
  static let longest = (64 << 20) - (4 << 10)

  /// The names that were not looked at, in one place: a change of a copy would copy all.
  private final class Rest {
    var names: FleetNames
    init(_ names: FleetNames) { self.names = names }
  }

  /// `see` is told each portion, and `done` that there are no more, or why it ends before.
  /// - Parameter isWanted: asked of each name once; the others' rows are not read.
  func read(
    where isWanted: @escaping (String) -> Bool, _ see: @escaping ([String: [UInt8]]) -> Void,
    _ done: @escaping (FleetOutcome<Void>) -> Void
  ) {
    engine.names(of: key) { outcome in
      guard case .done(let names) = outcome else { return done(outcome.failure() ?? .unanswered) }
      next(Rest(names), where: isWanted, see, done)
    }
  }

  /// The same of the rows with these names, portion after portion in their order.
  func read(
    _ names: [String], _ see: @escaping ([String: [UInt8]]) -> Void, _ done: @escaping (FleetOutcome<Void>) -> Void
  ) {
    next(names[...], see, done)
  }

  private func next(
    _ rest: Rest, where isWanted: @escaping (String) -> Bool, _ see: @escaping ([String: [UInt8]]) -> Void,
    _ done: @escaping (FleetOutcome<Void>) -> Void
  ) {
    let wanted = rest.names.takePortion().filter(isWanted)
    if rest.names.isEmpty { return read(wanted, see, done) }
    func goOn(_ outcome: FleetOutcome<Void>) {
      guard case .done = outcome else { return done(outcome) }
      next(rest, where: isWanted, see, done)
    }
    guard wanted.isEmpty else { return read(wanted, see, goOn) }
    // Of no names, for the turn in which it is answered.
    engine.sizes(of: key, []) { goOn($0.failure() ?? .done(())) }
  }

  private func next(
    _ rest: ArraySlice<String>, _ see: @escaping ([String: [UInt8]]) -> Void,
    _ done: @escaping (FleetOutcome<Void>) -> Void
  ) {
    guard !rest.isEmpty else { return done(.done(())) }
    let asked = Array(rest.prefix(Self.portion))
    engine.sizes(of: key, asked) { outcome in
      guard case .done(let sizes) = outcome else { return done(outcome.failure() ?? .unanswered) }
      let (count, known) = portion(of: asked, sizes)
      engine.rows(of: key, known) { outcome in
        guard case .done(let rows) = outcome else { return done(outcome.failure() ?? .unanswered) }
        see(rows)
        next(rest.dropFirst(count), see, done)
      }
    }
  }

  /// How many of the rows are dealt with at once, and which of these are read.
  private func portion(of names: [String], _ sizes: [Int]) -> (count: Int, read: [String]) {
    var (count, bytes) = (0, 0)
    var read: [String] = []
    for (name, size) in zip(names, sizes) {
      if size > 0, size <= rowLimit {
        guard bytes == 0 || bytes + size <= Self.bytes else { break }
        bytes += size
        read.append(name)
      }
      count += 1
    }
    return (max(count, 1), read)
  }
}
