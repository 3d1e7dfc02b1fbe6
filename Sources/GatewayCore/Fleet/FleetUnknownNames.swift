/// The names of rows that the engine has of a host and that the host may not know, until it has read the rows. There may be
/// 100,000.
struct FleetUnknownNames {
  /// As the engine has told them: these were not looked at.
  private var told: FleetNames
  /// The host does not know them, and has not read their rows.
  private var unread = SortedSet<CommandID.Ordered>()
  /// It has read their rows, and cannot keep them for now.
  private var unkept = SortedSet<CommandID.Ordered>()

  init(_ told: FleetNames = FleetNames()) { self.told = told }

  var isEmpty: Bool { told.isEmpty && unread.isEmpty && unkept.isEmpty }

  /// Looks at some that were told. Returns whether there are more.
  mutating func look(where isUnknown: (String) -> Bool) -> Bool {
    for name in told.takePortion() where isUnknown(name) { unread.insert(CommandID.Ordered(name)) }
    return !told.isEmpty
  }

  /// So many whose rows are to be read, in the order of their acceptance.
  func next(_ limit: Int) -> [String] { unread.next(limit, behind: nil).map(\.id) }

  mutating func noteRead(_ names: [String]) { for name in names { unread.remove(CommandID.Ordered(name)) } }
  mutating func noteUnkept(_ name: String) { unkept.insert(CommandID.Ordered(name)) }

  /// The row of the first one that could not be kept is to be read again. False: there is none.
  mutating func tryFirst() -> Bool {
    guard let first = unkept.first(behind: nil) else { return false }
    unkept.remove(first)
    unread.insert(first)
    return true
  }

  /// The rows of all that could not be kept are. False: there are none.
  mutating func tryAll() -> Bool {
    guard !unkept.isEmpty else { return false }
    swap(&unread, &unkept)
    // What is being read meanwhile.
    for name in unkept.all { unread.insert(name) }
    unkept = SortedSet()
    return true
  }
}
